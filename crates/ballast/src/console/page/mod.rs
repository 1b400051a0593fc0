//! The pages: each is a set of fragments with a fixed place, rendered whole at first and piece by piece afterwards.

mod node;
mod overview;
mod pending;
mod plan;
mod pool;

use ballast_core::view::View;
use maud::{DOCTYPE, Markup, html};

use super::Frame;
use super::server::VERSION;
use crate::present::figures;

/// One page of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// Everything at a glance.
    Overview,
    /// All that is planned, under way and held.
    Plan,
    /// All that waits.
    AllPending,
    /// Why the pods of one workload wait.
    Pending {
        /// Its namespace.
        namespace: String,
        /// Its name.
        workload: String,
    },
    /// One pool.
    Pool {
        /// Its name.
        name: String,
    },
    /// One node.
    Node {
        /// Its name.
        name: String,
    },
}

/// A part of a page that is kept fresh by itself.
pub(super) struct Fragment {
    /// The id of the element that holds it.
    pub(super) target: &'static str,
    /// What it holds now.
    pub(super) html: Markup,
}

impl Fragment {
    fn new(target: &'static str, html: Markup) -> Self {
        Self { target, html }
    }

    /// The fragment in its element, for the first rendering.
    fn placed(&self) -> Markup {
        html! { div id=(self.target) class="fragment" { (self.html) } }
    }
}

impl Page {
    /// The page of a path; `None` where there is none.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<String> = path.trim_matches('/').split('/').map(decoded).collect::<Option<_>>()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some(match parts[..] {
            [""] => Self::Overview,
            ["plan"] => Self::Plan,
            ["pending"] => Self::AllPending,
            ["pending", namespace, workload] => {
                Self::Pending { namespace: namespace.to_owned(), workload: workload.to_owned() }
            }
            ["pools", name] => Self::Pool { name: name.to_owned() },
            ["nodes", name] => Self::Node { name: name.to_owned() },
            _ => return None,
        })
    }

    /// Its parts, the common head first.
    pub(super) fn fragments(&self, frame: &Frame) -> Vec<Fragment> {
        let mut fragments = vec![Fragment::new("head", head(&frame.view))];
        fragments.extend(match self {
            Self::Overview => overview::fragments(frame),
            Self::Plan => plan::fragments(frame),
            Self::AllPending => vec![Fragment::new("main", pending::all(&frame.view))],
            Self::Pending { namespace, workload } => {
                vec![Fragment::new("main", pending::why(&frame.view, namespace, workload))]
            }
            Self::Pool { name } => vec![Fragment::new("main", pool::page(&frame.view, name))],
            Self::Node { name } => vec![Fragment::new("main", node::page(frame, name))],
        });
        fragments
    }

    /// Whether what it speaks of is there.
    pub(super) fn is_known(&self, frame: &Frame) -> bool {
        let view = &frame.view;
        match self {
            Self::Overview | Self::Plan | Self::AllPending => true,
            Self::Pending { namespace, workload } => pending::of(view, namespace, workload).next().is_some(),
            Self::Pool { name } => view.pools.iter().any(|pool| *pool.name == **name),
            Self::Node { name } => node::is_known(frame, name),
        }
    }

    /// The whole page.
    pub(super) fn render(&self, frame: &Frame) -> Markup {
        let mut fragments = self.fragments(frame).into_iter();
        let head = fragments.next().map(|head| head.placed());
        let rest: Vec<Fragment> = fragments.collect();
        let body = match self {
            Self::Overview => overview::layout(frame, &rest),
            Self::Plan => plan::layout(&rest),
            _ => html! { @for fragment in &rest { (fragment.placed()) } },
        };
        shell(&self.title(), Some(self), html! { (head.unwrap_or_default()) main { (body) } })
    }

    fn title(&self) -> String {
        match self {
            Self::Overview => "Overview".to_owned(),
            Self::Plan => "Plan".to_owned(),
            Self::AllPending => "Waiting".to_owned(),
            Self::Pending { namespace, workload } => format!("Why {namespace}/{workload} waits"),
            Self::Pool { name } => format!("Pool {name}"),
            Self::Node { name } => format!("Node {name}"),
        }
    }
}

/// A part of a path without its `%` signs; `None` where it is not text.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                (high * 16 + low) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// What surrounds every page.
fn shell(title: &str, page: Option<&Page>, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-version=(VERSION) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Ballast" }
                link rel="icon" href="/favicon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/console.css";
                script src="/console.js" defer {}
            }
            body {
                a class="skip" href="#content" { "Skip to the content" }
                header class="top" {
                    a class="brand" href="/" { img src="/favicon.svg" alt="" width="28" height="28"; "Ballast" }
                    nav aria-label="Pages" {
                        @for (path, name, here) in [("/", "Overview", Page::Overview), ("/pending", "Waiting", Page::AllPending), ("/plan", "Plan", Page::Plan)] {
                            a href=(path) aria-current=[(page == Some(&here)).then_some("page")] { (name) }
                        }
                    }
                    p id="connection" class="connection" role="status" { "reload to refresh" }
                }
                div id="content" tabindex="-1" { (body) }
                footer { "Ballast " (VERSION) " · " a href="/api/v1/view" { "this view as JSON" } }
            }
        }
    }
}

/// The instant and the mode, on top of every page.
fn head(view: &View) -> Markup {
    html! {
        div class="instant" {
            span class={ "mode " (format!("{:?}", view.mode).to_lowercase()) } { (format!("{:?}", view.mode)) }
            span { time datetime=(view.now) { (figures::day(view.now)) " " b { (figures::clock(view.now)) } " UTC" } }
            span class="dim" { (figures::plural(u32::try_from(view.plans).unwrap_or(u32::MAX), "plan")) " made" }
            @if let Some(next) = view.next_look { span class="dim" { "looks again " (figures::ahead(next, view.now)) } }
        }
        @for note in &view.promises {
            p class="alarm" role="alert" { b { "Promise " (note.promise) " broken: " } (note.message) }
        }
        @for source in view.sources.iter().filter(|source| source.trouble.is_some()) {
            p class="warning" {
                b { (source.name) ": " } (source.trouble.as_deref().unwrap_or_default())
                @if let Some(age) = source.age { " (last answer " (age.rounded()) " ago)" }
            }
        }
    }
}

/// Before the first view.
pub(super) fn not_yet() -> Markup {
    shell("Starting", None, html! { main { h1 { "Nothing has been seen yet" } p { "Reload in a moment." } } })
}

/// For a path that leads nowhere.
pub(super) fn lost(path: &str) -> Markup {
    let body = html! {
        main { h1 { "There is no such page" } p { code { (path) } } p { a href="/" { "Back to the overview" } } }
    };
    shell("Not found", None, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_pages() {
        assert_eq!(Page::parse("/"), Some(Page::Overview));
        assert_eq!(Page::parse("/nodes/a%20b"), Some(Page::Node { name: "a b".to_owned() }));
        let pending = Page::Pending { namespace: "ml".to_owned(), workload: "a/b".to_owned() };
        assert_eq!(Page::parse("/pending/ml/a%2Fb"), Some(pending));
        for path in ["/nodes", "/nope", "/nodes/%", "/nodes/%zz", "/nodes/%ff", "/a/b/c/d"] {
            assert_eq!(Page::parse(path), None, "{path}");
        }
    }
}
