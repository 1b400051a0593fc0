//! `ballast demo`: the embedded simulated cluster, live on a page and in the terminal.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use ballast_core::documents::{self, File};
use ballast_core::record::Entry;
use ballast_core::units::{Span, Time};
use ballast_core::view::View;
use ballast_sim::scenario::Scenario;
use ballast_sim::simulation::Simulation;

use super::{Result, load};
use crate::demo::{Demo, World};
use crate::present::{Failure, Screen};

/// Watch a simulated cluster being kept the right size.
///
/// Needs nothing: the cluster lives in this program, in accelerated time, and the decisions are made by the very code that
/// would run in a real one. The first line is the address of a page; the terminal shows the same in short. Ctrl-C ends it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Where the page is served [default: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Simulated seconds in a second
    #[arg(long, value_name = "N", default_value_t = 60.0, value_parser = speed)]
    speed: f64,
    /// End after this much time instead of with Ctrl-C
    #[arg(long = "for", value_name = "T")]
    lasts: Option<Span>,
}

const EXAMPLES: &str = "\
Examples:
  ballast demo
  ballast demo --speed 300
  ballast demo --listen 127.0.0.1:8080 --for 1m";

/// The story that is shown.
const SCENARIO: &str = include_str!("../../../../scenarios/demo.yaml");
/// Faster than a simulated day in ten seconds nobody sees anything.
const SPEED_MAX: f64 = 10_000.0;

pub(super) fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an address with its port, such as 127.0.0.1:8080".to_owned())
}

fn speed(text: &str) -> std::result::Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "write a number such as 60".to_owned())?;
    let is_good = number > 0.0 && number <= SPEED_MAX;
    if is_good { Ok(number) } else { Err(format!("write a number above 0 and up to {SPEED_MAX}")) }
}

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result {
    let free = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let demo = Demo {
        listen: args.listen.unwrap_or(free),
        speed: args.speed,
        lasts: args.lasts.map(|span| Duration::from_millis(span.as_millis().unsigned_abs())),
    };
    let scenario = embedded()?;
    // A moment after the beginning, when the engine has had its first look.
    let start = scenario.spec.start + Span::from_secs(5);
    let simulation = Simulation::new(&scenario, scenario.spec.seed).with_record();
    demo.run(Simulated { story: scenario.spec.story, start, simulation }, screen)
}

/// The scenario that is part of the program.
fn embedded() -> Result<Scenario> {
    let file = File { name: "demo.yaml".to_owned(), bytes: SCENARIO.as_bytes().to_vec() };
    let documents = documents::load(&[file]).map_err(|problems| load::refused(&problems))?;
    let placed = documents.scenarios.first().ok_or_else(|| Failure::new("the program holds no scenario"))?;
    load::scenario(placed).map_err(|problems| load::refused(&problems))
}

struct Simulated {
    story: String,
    start: Time,
    simulation: Simulation,
}

impl World for Simulated {
    fn story(&self) -> String {
        self.story.clone()
    }

    fn start(&self) -> Time {
        self.start
    }

    fn at(&mut self, time: Time) -> View {
        self.simulation.step_until(time);
        self.simulation.view()
    }

    fn record(&mut self) -> Vec<Entry> {
        self.simulation.take_record()
    }
}
