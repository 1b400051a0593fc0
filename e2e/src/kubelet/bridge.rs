//! A bridge of the kubelet's own, to which the network namespaces of its pods are tied; gone with this value.
//!
//! Who holds the number of a bridge has its name and its subnet to itself: kubelets of tests that run at the same time never meet.
//! The hold is a socket in the very network namespace that the bridge is in, and the kernel lets go of it when its owner dies,
//! however that comes about; so whoever holds a number may clear away a bridge that a killed one left.

use std::io::Write;
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::addresses::{Address, Addresses};

/// Bridges of this name and a number; a link has at most 15 characters.
const NAME: &str = "ballast";
/// The subnets are 10.231.NUMBER.0/24.
const SUBNETS: [u8; 2] = [10, 231];

/// A bridge with its subnet.
pub(super) struct Bridge {
    name: String,
    addresses: Addresses,
    /// Let go of after the bridge is gone.
    _hold: UnixListener,
}

impl Bridge {
    /// Makes a bridge in the first subnet that nobody has.
    ///
    /// # Errors
    ///
    /// When the machine does not allow it.
    pub(super) fn make() -> Result<Self> {
        for number in 0..=u8::MAX {
            let name = format!("{NAME}{number}");
            let Some(hold) = hold(&name) else { continue };
            if Path::new("/sys/class/net").join(&name).exists() {
                clear(&name);
            }
            ip(&[], &format!("link add {name} address {} type bridge", mac(gateway(number))))?;
            let addresses = Addresses::new([SUBNETS[0], SUBNETS[1], number]);
            let bridge = Self { name, addresses, _hold: hold };
            bridge.set_up()?;
            return Ok(bridge);
        }
        bail!("all {} subnets are in use", u16::from(u8::MAX) + 1)
    }

    /// The addresses of its subnet.
    pub(super) fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Ties the network namespace of a process to the bridge under an address.
    ///
    /// The hardware address follows from the address, so that nobody remembers a wrong one when an address comes again.
    pub(super) fn tie(&self, process: u32, address: &Address) -> Result<()> {
        let (link, bridge, ip_address) = (self.link(address), &self.name, address.ip());
        let peer = format!("peer name eth0 address {} netns {process}", mac(ip_address));
        ip(&[], &format!("link add {link} type veth {peer}\nlink set {link} master {bridge} up\n"))?;
        let inside = format!("addr add {ip_address}/24 dev eth0\nlink set eth0 up\n");
        ip(&["nsenter", &format!("--net=/proc/{process}/ns/net")], &inside)
    }

    /// Cuts what was tied under an address: before its processes are gone, the kernel would take its time.
    pub(super) fn cut(&self, address: &Address) {
        // It goes with the namespace anyway.
        let _ = ip(&[], &format!("link del {}", self.link(address)));
    }

    fn link(&self, address: &Address) -> String {
        format!("{}-{}", self.name, address.host())
    }

    fn set_up(&self) -> Result<()> {
        let Self { name, addresses, .. } = self;
        ip(&[], &format!("addr add {}/24 dev {name}\nlink set {name} up\n", addresses.gateway()))
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        clear(&self.name);
    }
}

/// The hold on the bridge of a name; none where somebody else has it.
fn hold(name: &str) -> Option<UnixListener> {
    let address = SocketAddr::from_abstract_name(format!("{name}.kubelet")).ok()?;
    UnixListener::bind_addr(&address).ok()
}

fn clear(name: &str) {
    let links = std::fs::read_dir(format!("/sys/class/net/{name}/brif")).into_iter().flatten().flatten();
    let mut removals: String =
        links.map(|link| format!("link del {}\n", link.file_name().to_string_lossy())).collect();
    removals.push_str(&format!("link del {name}\n"));
    // What the kernel has cleared already is cleared.
    let _ = ip(&[], &removals);
}

fn gateway(number: u8) -> Ipv4Addr {
    Addresses::new([SUBNETS[0], SUBNETS[1], number]).gateway()
}

/// A hardware address of our own making, the same for the same address.
fn mac(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("02:ba:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

/// Runs lines of `ip`, within what other commands make of it, all of them also where one fails.
fn ip(within: &[&str], lines: &str) -> Result<()> {
    let words = [within, &["ip", "-force", "-batch", "-"]].concat();
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", words[0]))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(lines.as_bytes()).context("ip does not read its input")?;
    }
    let output = child.wait_with_output().context("cannot await ip")?;
    ensure!(output.status.success(), "{}: {}", lines.trim(), String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
