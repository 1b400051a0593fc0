//! A relay between Ballast and what it talks to. Everything is passed on as it is; the test hears of each request once it was
//! carried out and before its answer is passed on, and can break every connection at once.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{self, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use futures::stream::unfold;
use kube::{Client, Config};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Hears of a request, `METHOD /path?query`, after it was carried out and before its answer is passed on.
type Watcher = Box<dyn FnMut(&str) + Send>;

/// A running relay, ended with this value.
pub struct Relay {
    address: String,
    inner: Arc<Inner>,
    _runtime: Runtime,
}

struct Inner {
    client: Client,
    watcher: Mutex<Option<Watcher>>,
    /// Counts how often all connections were broken.
    broken: watch::Sender<u64>,
}

impl Relay {
    /// Starts a relay to whatever is at an address such as `http://127.0.0.1:1234`.
    ///
    /// # Errors
    ///
    /// When the address is none, or the relay cannot listen.
    pub fn to_address(address: &str) -> Result<Self> {
        let address = address.parse().context("no address")?;
        Self::start(|| async { Ok(Config::new(address)) })
    }

    /// Starts a relay to the API of a kubeconfig, as its user.
    ///
    /// # Errors
    ///
    /// When the kubeconfig cannot be used, or the relay cannot listen.
    pub fn to_cluster(kubeconfig: &std::path::Path) -> Result<Self> {
        let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig)?;
        Self::start(|| async { Ok(Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?) })
    }

    fn start<F: Future<Output = Result<Config>>>(config: impl FnOnce() -> F) -> Result<Self> {
        ballast_live::install_crypto();
        let runtime = Runtime::new().context("cannot start a runtime")?;
        let (listener, client) = runtime.block_on(async {
            let mut config = config().await?;
            config.default_retry = false;
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
            anyhow::Ok((listener, Client::try_from(config)?))
        })?;
        let address = format!("http://{}", listener.local_addr().context("cannot tell the address")?);
        let inner = Arc::new(Inner { client, watcher: Mutex::new(None), broken: watch::Sender::new(0) });
        let router = Router::new().fallback(pass_on).with_state(inner.clone());
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, inner, _runtime: runtime })
    }

    /// Its own address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// From now on this hears of every request once it was carried out.
    pub fn watch(&self, watcher: impl FnMut(&str) + Send + 'static) {
        *self.inner.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(watcher));
    }

    /// Breaks every connection over which something is being said.
    pub fn break_connections(&self) {
        self.inner.broken.send_modify(|times| *times += 1);
    }
}

async fn pass_on(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let told = format!("{} {}", request.method(), request.uri());
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let mut request = http::Request::new(kube::client::Body::from(body.to_vec()));
    (*request.method_mut(), *request.uri_mut()) = (head.method, head.uri);
    for name in [http::header::ACCEPT, http::header::AUTHORIZATION, http::header::CONTENT_TYPE] {
        if let Some(value) = head.headers.get(&name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    let answer = inner.client.send(request).await;
    if let Some(watcher) = &mut *inner.watcher.lock().unwrap_or_else(PoisonError::into_inner) {
        watcher(&told);
    }
    match answer {
        Ok(answer) => {
            let (head, body) = answer.into_parts();
            let said = until_broken(Body::new(body), inner.broken.subscribe());
            let mut response = Response::new(said);
            *response.status_mut() = head.status;
            for name in [http::header::CONTENT_TYPE, http::header::RETRY_AFTER] {
                if let Some(value) = head.headers.get(&name) {
                    response.headers_mut().insert(name, value.clone());
                }
            }
            response
        }
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

/// What is being said, until all connections are broken: then not even its end.
fn until_broken(body: Body, broken: watch::Receiver<u64>) -> Body {
    let said = body.into_data_stream();
    Body::from_stream(unfold((said, broken), |(mut said, mut broken)| async {
        let next = tokio::select! {
            next = said.next() => next?.map_err(std::io::Error::other),
            _ = broken.changed() => Err(std::io::ErrorKind::ConnectionReset.into()),
        };
        Some((next, (said, broken)))
    }))
}
