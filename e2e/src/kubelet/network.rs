//! How pods are told apart: each in namespaces of its own on a bridge, or, where the machine does not allow that, by
//! addresses of loopback alone.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::{Context, Result, ensure};

use super::addresses::Addresses;
use super::bridge::Bridge;

/// What a machine must allow for namespaces.
const TRIAL: &str = include_str!("trial.sh");
/// Subnets of loopback that this process has given to kubelets.
static LOOPBACKS: AtomicU8 = AtomicU8::new(0);

/// The network of a kubelet's pods.
pub(super) enum Network {
    /// Namespaces on a bridge.
    Namespaces(Bridge),
    /// Addresses of loopback: no namespace, no volume, no name of a Service.
    Loopback(Addresses),
}

impl Network {
    /// Namespaces, where the machine allows them.
    ///
    /// # Errors
    ///
    /// When it allows them and yet has no bridge.
    pub(super) fn best() -> Result<Self> {
        match tried() {
            Ok(()) => Ok(Self::Namespaces(Bridge::make()?)),
            Err(_) => Ok(Self::loopback()),
        }
    }

    /// Addresses of loopback that no other kubelet of this process has, and hardly one of another.
    pub(super) fn loopback() -> Self {
        let process = (std::process::id() % 127) as u8;
        Self::Loopback(Addresses::new([127, 64 + process, LOOPBACKS.fetch_add(1, Ordering::Relaxed)]))
    }

    /// The addresses of pods.
    pub(super) fn addresses(&self) -> &Addresses {
        match self {
            Self::Namespaces(bridge) => bridge.addresses(),
            Self::Loopback(addresses) => addresses,
        }
    }

    /// The address of the host, as pods see it.
    pub(super) fn gateway(&self) -> Ipv4Addr {
        match self {
            Self::Namespaces(bridge) => bridge.addresses().gateway(),
            Self::Loopback(_) => Ipv4Addr::LOCALHOST,
        }
    }

    /// Pods have namespaces.
    pub(super) fn has_namespaces(&self) -> bool {
        matches!(self, Self::Namespaces(_))
    }
}

fn tried() -> Result<()> {
    let output = Command::new("sh").args(["-c", TRIAL]).stdin(Stdio::null()).output();
    let output = output.context("cannot run a shell")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
