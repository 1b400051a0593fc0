//! Long random rows of replies, with wakes that come late or too early.

use proptest::prelude::*;

use crate::memory::{LaunchKind, Removal};
use crate::procedure::{Next, Reply, Request, VmStart, VmStop};
use crate::units::{Span, Time};

use super::{START, a_launch, a_removal, is_empty, replies};

const DEADLINE: Span = Span::from_mins(10);

/// Drives a machine with replies by number; returns when it ended.
fn drive<M>(
    mut machine: M,
    step: impl Fn(M, Time, Option<&Reply>) -> (M, Next),
    rows: &[(usize, u16)],
    mut seen: impl FnMut(&Request, &Option<Reply>),
) -> Time {
    let replies = replies();
    let (mut now, mut reply, mut last) = (START, None, None);
    for at in 0..100_000 {
        let (pick, late) = rows[at % rows.len()];
        let next;
        (machine, next) = step(machine, now, reply.as_ref());
        match next {
            Next::Request(request) => {
                seen(&request, &last);
                reply = Some(replies[pick % replies.len()].clone());
                last = reply.clone();
                now += Span::from_millis(i64::from(late));
            }
            Next::Persist => reply = Some(Reply::Done),
            Next::WaitUntil(until) => {
                reply = None;
                now = now.max(until) + Span::from_millis(i64::from(late));
            }
            Next::Done(_) => return now,
        }
    }
    panic!("it never ends");
}

proptest! {
    #![proptest_config(crate::fixtures::sized(256, 10_000))]

    #[test]
    fn stops_end_in_time(rows in prop::collection::vec((any::<usize>(), any::<u16>()), 1..60), waits: bool) {
        let waits_for = if waits { vec!["stranger".into()] } else { Vec::new() };
        let removal = Removal { waits_for, ..a_removal(DEADLINE) };
        let machine = VmStop::begin(&"n1".into(), &removal);
        let ended = drive(machine, VmStop::step, &rows, |request, last| {
            if let Request::StopInstance { .. } = request {
                assert!(matches!(last, Some(Reply::Node(node)) if is_empty(node) && &*node.mark == "stop-7"));
            }
        });
        prop_assert!(ended < START + DEADLINE + Span::from_mins(40));
    }

    #[test]
    fn starts_end_in_time(rows in prop::collection::vec((any::<usize>(), any::<u16>()), 1..60), create: bool) {
        let kind = if create { LaunchKind::Create } else { LaunchKind::Start };
        let machine = VmStart::begin(&"n1".into(), &a_launch(kind, DEADLINE));
        let ended = drive(machine, VmStart::step, &rows, |request, _| {
            assert!(!matches!(request, Request::StopInstance { .. } | Request::Evict { .. } | Request::Cordon { .. }));
        });
        prop_assert!(ended < START + DEADLINE + Span::from_mins(5));
    }
}
