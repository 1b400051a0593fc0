//! A headless Chromium: pages are opened, read and clicked as a person would, and every complaint is kept.

mod devtools;
mod page;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use devtools::DevTools;
pub use page::Page;

/// A browser with a profile of its own, ended when it is dropped.
pub struct Browser {
    devtools: DevTools,
}

/// No first steps, no update checks, nothing that reaches out on its own.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--window-size=1280,900",
];

impl Browser {
    /// Starts the browser that `BALLAST_CHROMIUM` names.
    ///
    /// # Errors
    ///
    /// When the variable is not set or the program cannot be run.
    pub fn launch() -> Result<Self> {
        let program = std::env::var_os("BALLAST_CHROMIUM")
            .context("BALLAST_CHROMIUM is not set\n\nhint: run `cargo xtask test console`")?;
        let mut flags: Vec<&str> = FLAGS.to_vec();
        if is_root()? {
            // Chromium refuses to put root into its sandbox; our own pages are all that it opens.
            flags.push("--no-sandbox");
        }
        Ok(Self { devtools: DevTools::start(Path::new(&program), &flags)? })
    }

    /// Opens a page in a new tab and waits until it has loaded.
    ///
    /// # Errors
    ///
    /// When the browser refuses or the page does not load in time.
    pub fn open(&mut self, url: &str) -> Result<Page<'_>> {
        let target = self.devtools.call("Target.createTarget", json!({"url": "about:blank"}), None)?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.devtools.call("Target.attachToTarget", attach, None)?;
        let session = attached["sessionId"].as_str().context("no session")?.to_owned();
        Page::open(&mut self.devtools, session, url)
    }
}

fn is_root() -> Result<bool> {
    Ok(std::fs::metadata("/proc/self").context("cannot tell the user")?.uid() == 0)
}
