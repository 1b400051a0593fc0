//! The demo: a simulated cluster in accelerated time, shown on the page and in the terminal.
//!
//! ```text
//! wall clock × speed ──▶ world, on a thread of its own ──▶ View ──▶ Feed ──▶ the page, and a block in the terminal
//! ```

mod show;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ballast_core::record::Entry;
use ballast_core::units::{Span, Time};
use ballast_core::view::View;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::{Outcome, Result};
use crate::console::{self, Feed, Story};
use crate::present::{Doing, Failure, Screen, figures};

/// How the demo is run.
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    /// Where the page is served; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Simulated seconds in a second.
    pub speed: f64,
    /// When it ends by itself.
    pub lasts: Option<Duration>,
}

/// How often the world is moved on. The page shows at most two frames a second.
const STEP_EVERY: Duration = Duration::from_millis(250);
/// How often the terminal is written to where it cannot be written over.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// A world that can be moved to an instant and then be looked at.
pub trait World: Send + 'static {
    /// What happens in it.
    fn story(&self) -> String;
    /// Where it begins.
    fn start(&self) -> Time;
    /// Moves it on and looks at it.
    fn at(&mut self, time: Time) -> View;
    /// What its engine recorded since the last call.
    fn record(&mut self) -> Vec<Entry>;
}

impl Demo {
    /// Runs until its time is over, or until it is interrupted. The first line on stdout is the page's address.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on.
    pub fn run(self, world: impl World, screen: &mut Screen) -> Result {
        let runtime = Runtime::new().doing(|| "cannot start the runtime")?;
        let outcome = runtime.block_on(self.show(world, screen));
        // Readers of the page's events would hold it open.
        runtime.shutdown_background();
        outcome
    }

    async fn show(self, mut world: impl World, screen: &mut Screen) -> Result {
        let listener = TcpListener::bind(self.listen).await;
        let listener = listener.doing(|| format!("cannot listen on {}", self.listen)).map_err(|failure| {
            failure.hint("choose another address with `--listen`, or leave it out to take a free port")
        })?;
        let address = listener.local_addr().doing(|| "cannot tell the page's address")?;
        let title =
            format!("A simulated cluster, {} times as fast as the clock", figures::number(self.speed));
        let feed = Feed::new().with_story(Story { title, text: world.story() });
        feed.publish(world.at(world.start()));
        let server = tokio::spawn(console::serve(listener, feed.clone(), axum::Router::new()));
        // Before anything is shown: who sees the address may press Ctrl-C.
        let mut interrupts = signal(SignalKind::interrupt()).doing(|| "cannot listen for Ctrl-C")?;
        if !address.ip().is_loopback() {
            screen.note(format_args!(
                "warning: {} can be reached from other machines; the page answers only where it is asked for under a name of \
                 this machine, such as localhost",
                address.ip()
            ));
        }
        let address = format!("http://{}/", shown(address));
        screen.line(&address)?;
        let stop = Arc::new(AtomicBool::new(false));
        let driver = thread::spawn({
            let (feed, stop, speed) = (feed.clone(), stop.clone(), self.speed);
            move || drive(world, speed, &feed, &stop)
        });
        let terminal = show::Terminal::new(address, screen);
        let outcome = self.follow(&feed, &driver, terminal, &mut interrupts, screen).await;
        stop.store(true, Ordering::Relaxed);
        server.abort();
        outcome
    }

    /// Shows in the terminal what the page shows, until the end.
    async fn follow(
        self,
        feed: &Feed,
        driver: &thread::JoinHandle<()>,
        mut terminal: show::Terminal,
        interrupts: &mut Signal,
        screen: &mut Screen,
    ) -> Result {
        let started = Instant::now();
        loop {
            if let Some(frame) = feed.newest() {
                terminal.show(&frame, screen)?;
            }
            if self.lasts.is_some_and(|lasts| started.elapsed() >= lasts) {
                return Ok(Outcome::Done);
            }
            if driver.is_finished() {
                return Err(Failure::new("the simulated cluster has ended unexpectedly"));
            }
            let left = self.lasts.map(|lasts| lasts.saturating_sub(started.elapsed()));
            tokio::select! {
                _ = interrupts.recv() => {
                    terminal.leave(screen)?;
                    return Ok(Outcome::Interrupted);
                }
                () = tokio::time::sleep(terminal.pause().min(left.unwrap_or(Duration::MAX))) => {}
            }
        }
    }
}

/// The address that a browser on this machine takes.
fn shown(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// Moves the world on with the wall clock, `speed` times as fast.
fn drive(mut world: impl World, speed: f64, feed: &Feed, stop: &AtomicBool) {
    let (start, started) = (world.start(), Instant::now());
    while !stop.load(Ordering::Relaxed) {
        let passed = started.elapsed().as_secs_f64() * speed * 1000.0;
        let view = world.at(start + Span::from_millis(passed as i64));
        feed.record(&world.record());
        feed.publish(view);
        thread::sleep(STEP_EVERY);
    }
}
