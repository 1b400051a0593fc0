//! What probes and hooks do: run a command, ask a page, open a connection, or wait.

use std::time::Duration;

use k8s_openapi::api::core::v1::{
    ExecAction, HTTPGetAction, LifecycleHandler, Probe, SleepAction, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::container::Running;

/// Something that is done to a container.
pub(super) enum Handler<'a> {
    /// Runs a command in it.
    Exec(&'a ExecAction),
    /// Asks it for a page.
    HttpGet(&'a HTTPGetAction),
    /// Opens a connection to it.
    TcpSocket(&'a TCPSocketAction),
    /// Waits.
    Sleep(&'a SleepAction),
}

impl<'a> Handler<'a> {
    /// Of a probe.
    pub(super) fn of_probe(probe: &'a Probe) -> Option<Self> {
        let exec = probe.exec.as_ref().map(Self::Exec);
        let page = || probe.http_get.as_ref().map(Self::HttpGet);
        exec.or_else(page).or_else(|| probe.tcp_socket.as_ref().map(Self::TcpSocket))
    }

    /// Of a hook.
    pub(super) fn of_hook(hook: &'a LifecycleHandler) -> Option<Self> {
        let exec = hook.exec.as_ref().map(Self::Exec);
        let page = || hook.http_get.as_ref().map(Self::HttpGet);
        exec.or_else(page).or_else(|| hook.sleep.as_ref().map(Self::Sleep))
    }

    /// Does it, within a time.
    ///
    /// # Errors
    ///
    /// Why it failed.
    pub(super) async fn run(&self, container: &Running<'_>, within: Duration) -> Result<(), String> {
        match self {
            Self::Exec(action) => container.exec(action.command.as_deref().unwrap_or_default(), within).await,
            Self::HttpGet(action) => http_get(action, container, within).await,
            Self::TcpSocket(action) => {
                let host = action.host.clone().unwrap_or_else(|| container.ip().to_string());
                let port = port(&action.port, container)?;
                match timeout(within, TcpStream::connect((host.as_str(), port))).await {
                    Ok(Ok(_)) => Ok(()),
                    Ok(Err(error)) => Err(format!("dial tcp {host}:{port}: {error}")),
                    Err(_) => Err(format!("dial tcp {host}:{port}: no answer in time")),
                }
            }
            Self::Sleep(action) => {
                let wanted = Duration::from_secs(u64::try_from(action.seconds).unwrap_or(0));
                tokio::time::sleep(wanted.min(within)).await;
                Ok(())
            }
        }
    }
}

/// Asks as a kubelet does: nobody vouches for the certificate of a container, and a redirection is an answer.
pub(super) fn web() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .tls_danger_accept_invalid_certs(true)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
}

async fn http_get(action: &HTTPGetAction, container: &Running<'_>, within: Duration) -> Result<(), String> {
    let scheme = action.scheme.as_deref().unwrap_or("HTTP").to_lowercase();
    let host = action.host.clone().unwrap_or_else(|| container.ip().to_string());
    let port = port(&action.port, container)?;
    let path = action.path.as_deref().unwrap_or("/");
    let mut headers = HeaderMap::new();
    for header in action.http_headers.iter().flatten() {
        let name: HeaderName = header.name.parse().map_err(|_| format!("header {}", header.name))?;
        headers.append(name, HeaderValue::from_str(&header.value).map_err(|error| error.to_string())?);
    }
    let request = container.web().get(format!("{scheme}://{host}:{port}{path}"));
    let answer = request.headers(headers).timeout(within).send().await;
    let code = answer.map_err(|error| format!("Get {path:?}: {error}"))?.status().as_u16();
    if (200..400).contains(&code) {
        Ok(())
    } else {
        Err(format!("HTTP probe failed with statuscode: {code}"))
    }
}

/// A port by number, or by the name that the container gives it.
fn port(port: &IntOrString, container: &Running<'_>) -> Result<u16, String> {
    let number = match port {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(name) => container.port(name),
    };
    number.and_then(|number| u16::try_from(number).ok()).ok_or_else(|| format!("no port {port:?}"))
}
