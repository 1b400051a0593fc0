//! Tables of replies and what follows, for people to read.

use crate::memory::{LaunchKind, Removal};
use crate::observation::{ErrorClass, InstanceState};
use crate::procedure::{LiveNode, LivePod, Next, Reply, Request, VmStart, VmStop};
use crate::units::{Span, Time};

use super::{FOREVER, START, a_launch, a_node, a_pod, a_release, a_removal, failed, instance};

const LONG: Span = Span::from_mins(15);

/// What a machine does under a row of replies, one word a step; waits are passed over at once and shown as `…`.
fn transcript<M: Clone>(
    machine: M,
    step: impl Fn(M, Time, Option<&Reply>) -> (M, Next),
    replies: &[Reply],
) -> String {
    let (mut machine, mut now, mut words) = (machine, START, Vec::new());
    let mut replies = replies.iter();
    let mut reply = None;
    loop {
        let next;
        (machine, next) = step(machine, now, reply);
        reply = None;
        match next {
            Next::WaitUntil(at) => {
                words.push("…".to_owned());
                now = at;
                continue;
            }
            Next::Done(receipt) => {
                words.push(format!("{receipt:?}"));
                return words.join(" ");
            }
            Next::Persist => words.push("persist".to_owned()),
            Next::Request(request) => words.push(word(&request)),
        }
        reply = replies.next();
        if reply.is_none() {
            return words.join(" ");
        }
    }
}

fn word(request: &Request) -> String {
    match request {
        Request::StartInstance { .. } => "start".into(),
        Request::CreateInstance { .. } => "create".into(),
        Request::StopInstance { mode, .. } => format!("stop({mode:?})"),
        Request::ReadInstance { .. } => "read-instance".into(),
        Request::ReadNode { .. } => "read-node".into(),
        Request::Cordon { .. } => "cordon".into(),
        Request::Uncordon { mark, .. } => format!("uncordon({mark})"),
        Request::Evict { name, .. } => format!("evict({name})"),
        Request::WriteLedger { .. } | Request::ReadLedger | Request::WriteHistory { .. } => "ledger".into(),
    }
}

fn start(kind: LaunchKind, replies: &[Reply]) -> String {
    transcript(VmStart::begin(&"n1".into(), &a_launch(kind, LONG)), VmStart::step, replies)
}

fn stop(removal: &Removal, replies: &[Reply]) -> String {
    transcript(VmStop::begin(&"n1".into(), removal), VmStop::step, replies)
}

fn ready() -> LiveNode {
    LiveNode { mark: "".into(), unschedulable: false, ..a_node() }
}

fn running() -> Reply {
    instance("i1", InstanceState::Running)
}

fn off() -> Reply {
    instance("i1", InstanceState::Stopped)
}

#[test]
fn a_start_goes_through() {
    use LaunchKind::{Create, Start};
    let marked = LiveNode { mark: "stop-3".into(), ..a_node() };
    let booting = LiveNode { ready: false, ..ready() };
    for (kind, replies, expected) in [
        (
            Start,
            vec![Reply::Done, instance("i1", InstanceState::Starting), running(), Reply::Node(ready())],
            "start … read-instance … read-instance read-node Joined",
        ),
        (Create, vec![running(), Reply::Node(ready())], "create read-node Joined"),
        (
            Start,
            vec![Reply::Done, running(), Reply::Node(booting), Reply::Node(marked), Reply::Done],
            "start … read-instance read-node … read-node uncordon(stop-3) Joined",
        ),
    ] {
        assert_eq!(start(kind, &replies), expected);
    }
}

#[test]
fn a_start_that_is_refused_fails_at_once() {
    for class in
        [ErrorClass::StockOut, ErrorClass::Quota, ErrorClass::Auth, ErrorClass::Invalid, ErrorClass::NotFound]
    {
        let expected = format!("create LaunchFailed {{ class: {class:?}, release: false }}");
        assert_eq!(start(LaunchKind::Create, &[failed(class)]), expected);
    }
}

#[test]
fn a_start_of_unknown_result_looks_before_it_asks_again() {
    let gone = || failed(ErrorClass::NotFound);
    for (kind, replies, expected) in [
        (
            LaunchKind::Create,
            vec![Reply::TimedOut, gone(), running(), Reply::Node(ready())],
            "create … read-instance create read-node Joined",
        ),
        (
            LaunchKind::Start,
            vec![failed(ErrorClass::Transient), off(), Reply::Done, running(), Reply::Node(ready())],
            "start … read-instance start … read-instance read-node Joined",
        ),
        (
            LaunchKind::Start,
            vec![failed(ErrorClass::Throttled), Reply::Done, running(), Reply::Node(ready())],
            "start … start … read-instance read-node Joined",
        ),
        // Stock-out that shows only after the request was accepted: what was made has to be let go.
        (
            LaunchKind::Create,
            vec![Reply::Done, failed(ErrorClass::StockOut)],
            "create … read-instance LaunchFailed { class: StockOut, release: true }",
        ),
        (
            LaunchKind::Create,
            vec![Reply::Done, off()],
            "create … read-instance LaunchFailed { class: Transient, release: true }",
        ),
    ] {
        assert_eq!(start(kind, &replies), expected);
    }
}

#[test]
fn a_start_that_never_joins_ends_at_its_deadline() {
    let mut replies = vec![Reply::Done, running()];
    for _ in 0..200 {
        replies.extend([ErrorClass::NotFound, ErrorClass::NotFound, ErrorClass::Transient].map(failed));
        replies.extend([Reply::TimedOut, running()]);
    }
    assert!(start(LaunchKind::Start, &replies).ends_with("… NeverJoined"));
}

#[test]
fn a_drain_goes_through() {
    let both = LiveNode { pods: vec![a_pod("p1"), a_pod("p2")], ..a_node() };
    let leaving = LiveNode { pods: vec![LivePod { leaving: Some(FOREVER), ..a_pod("p2") }], ..a_node() };
    let replies = [
        Reply::Done,
        Reply::Node(both.clone()),
        Reply::Done,
        // A disruption budget holds the second back; it is asked again after a look.
        failed(ErrorClass::Throttled),
        Reply::Node(LiveNode { pods: vec![a_pod("p2")], ..a_node() }),
        Reply::Done,
        Reply::Node(leaving),
        Reply::Node(a_node()),
        Reply::Done,
        Reply::Node(a_node()),
        Reply::Done,
        instance("i1", InstanceState::Stopping),
        off(),
    ];
    assert_eq!(
        stop(&a_removal(LONG), &replies),
        "cordon read-node evict(pod-p1) evict(pod-p2) … read-node evict(pod-p2) … read-node … read-node persist \
         read-node stop(Deallocate) … read-instance … read-instance Stopped"
    );
    // What was not to be displaced is waited for, what was is moved meanwhile.
    let waits = Removal { waits_for: vec!["p1".into()], displaces: vec!["p2".into()], ..a_removal(LONG) };
    let one = LiveNode { pods: vec![a_pod("p1")], ..a_node() };
    let replies = [
        Reply::Done,
        Reply::Node(both),
        Reply::Done,
        Reply::Node(one),
        Reply::Node(a_node()),
        Reply::Done,
        Reply::Node(a_node()),
    ];
    assert_eq!(
        stop(&waits, &replies),
        "cordon read-node evict(pod-p2) … read-node … read-node persist read-node stop(Deallocate)"
    );
}

#[test]
fn only_what_the_plan_said_is_waited_for() {
    // A service was bound between the look and the cordon: it never ends.
    let waits = Removal { waits_for: vec!["p1".into()], displaces: Vec::new(), ..a_removal(LONG) };
    let both = LiveNode { pods: vec![a_pod("p1"), a_pod("stranger")], ..a_node() };
    assert_eq!(
        stop(&waits, &[Reply::Done, Reply::Node(both), Reply::Done]),
        "cordon read-node uncordon(stop-7) GaveUp { why: UnexpectedPod, cordon_left: false }"
    );
}

#[test]
fn pods_that_nobody_will_ever_confirm_gone_are_not_waited_for() {
    let stranded = |grace: Span| {
        let pod = LivePod { leaving: Some(grace), ..a_pod("p1") };
        Reply::Node(LiveNode { pods: vec![pod], ready: false, ..a_node() })
    };
    let looks = |grace: Span| {
        let mut replies = vec![Reply::Done];
        replies.extend(vec![stranded(grace); 40]);
        let told = stop(&a_removal(LONG), &replies);
        told.split(" persist").next().unwrap_or_default().matches("read-node").count()
    };
    let (short, long) = (looks(Span::from_secs(1)), looks(Span::from_mins(5)));
    assert!(
        2 < short && short < long && long < 40,
        "as long as its grace, and then no more: {short}, {long}"
    );
    let replies = [Reply::Done, stranded(Span::ZERO), Reply::Node(a_node())];
    assert_eq!(stop(&a_removal(LONG), &replies), "cordon read-node … read-node persist");
}

#[test]
fn a_grace_that_grows_on_the_way_is_waited_for() {
    let leaving = |grace: Span| {
        let pod = LivePod { leaving: Some(grace), ..a_pod("p1") };
        Reply::Node(LiveNode { pods: vec![pod], ..a_node() })
    };
    let mut replies = vec![Reply::Done, leaving(Span::ZERO)];
    replies.extend(vec![leaving(FOREVER); 40]);
    let told = stop(&a_removal(LONG), &replies);
    assert!(
        !told.contains("persist"),
        "the first look said no grace at all, the next ones a long one: {told}"
    );
}

#[test]
fn a_drain_is_given_up_safely() {
    let stranger = LiveNode { pods: vec![a_pod("stranger")], ..a_node() };
    let theirs = LiveNode { mark: "".into(), ..a_node() };
    let uncordoned = LiveNode { unschedulable: false, ..a_node() };
    let replaced = LiveNode { uid: "u2".into(), ..a_node() };
    let empty = || Reply::Node(a_node());
    for (replies, expected) in [
        (
            vec![Reply::Done, Reply::Node(stranger.clone()), Reply::Done],
            "cordon read-node uncordon(stop-7) GaveUp { why: UnexpectedPod, cordon_left: false }",
        ),
        // Somebody else's cordon stays.
        (
            vec![failed(ErrorClass::Conflict), Reply::Node(theirs)],
            "cordon … read-node GaveUp { why: CordonedByOther, cordon_left: false }",
        ),
        (
            vec![Reply::Done, Reply::Node(uncordoned), Reply::Done],
            "cordon read-node uncordon(stop-7) GaveUp { why: UncordonedByOther, cordon_left: false }",
        ),
        (
            vec![Reply::Done, Reply::Node(replaced)],
            "cordon read-node GaveUp { why: Replaced, cordon_left: false }",
        ),
        (
            vec![failed(ErrorClass::NotFound), failed(ErrorClass::NotFound)],
            "cordon … read-node GaveUp { why: NodeGone, cordon_left: false }",
        ),
        // The live re-check catches a pod that came after the drain.
        (
            vec![
                Reply::Done,
                empty(),
                Reply::Done,
                Reply::Node(stranger),
                Reply::TimedOut,
                empty(),
                Reply::Done,
            ],
            "cordon read-node persist read-node uncordon(stop-7) … read-node uncordon(stop-7) \
             GaveUp { why: UnexpectedPod, cordon_left: false }",
        ),
        // A stop that is refused: the instance must be seen running before the cordon comes off.
        (
            vec![
                Reply::Done,
                empty(),
                Reply::Done,
                empty(),
                failed(ErrorClass::Auth),
                running(),
                running(),
                running(),
                Reply::Done,
            ],
            "cordon read-node persist read-node stop(Deallocate) … read-instance … read-instance … read-instance \
             uncordon(stop-7) GaveUp { why: Refused(Auth), cordon_left: false }",
        ),
    ] {
        assert_eq!(stop(&a_removal(LONG), &replies), expected);
    }
}

#[test]
fn a_release_lets_go_what_never_joined() {
    let gone = || failed(ErrorClass::NotFound);
    let unwell = LiveNode { ready: false, mark: "".into(), unschedulable: false, ..a_node() };
    let cordoned = LiveNode { ready: false, ..a_node() };
    for (replies, expected) in [
        (
            vec![running(), gone(), Reply::Done, gone(), Reply::Done, gone(), gone()],
            "read-instance read-node persist read-node stop(Delete) … read-instance … read-instance Stopped",
        ),
        (
            vec![
                running(),
                Reply::Node(unwell),
                Reply::Done,
                Reply::Node(cordoned.clone()),
                Reply::Done,
                Reply::Node(cordoned),
            ],
            "read-instance read-node cordon read-node persist read-node stop(Delete)",
        ),
        // Seeds 300, 236 and 802 of the storms: it became ready after the cordon.
        (
            vec![
                running(),
                Reply::Node(LiveNode { unschedulable: false, mark: "".into(), ready: false, ..a_node() }),
                Reply::Done,
                Reply::Node(LiveNode { ready: false, ..a_node() }),
                Reply::Done,
                Reply::Node(a_node()),
                Reply::Done,
            ],
            "read-instance read-node cordon read-node persist read-node uncordon(stop-7) \
             GaveUp { why: JoinedLate, cordon_left: false }",
        ),
        (
            vec![running(), Reply::Node(ready())],
            "read-instance read-node GaveUp { why: JoinedLate, cordon_left: false }",
        ),
        (
            vec![gone(), gone(), gone(), gone()],
            "read-instance … read-instance … read-instance … read-instance Stopped",
        ),
    ] {
        assert_eq!(stop(&a_release(LONG), &replies), expected);
    }
}

#[test]
fn a_removal_can_be_taken_back_until_the_stop_is_sent() {
    let removal = Removal { waits_for: vec!["p9".into()], ..a_removal(LONG) };
    let (mut machine, _) = VmStop::begin(&"n1".into(), &removal).step(START, None);
    machine.cancel();
    let (machine, next) = machine.step(START, Some(&Reply::Done));
    assert!(matches!(next, Next::Request(Request::Uncordon { .. })), "{next:?}");
    assert!(machine.is_giving_up());
}
