//! The door through which pods reach the API server: it listens on loopback only, which they do not share.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// The name in the certificate of the API server under which pods find it.
pub(super) const NAME: &str = "kubernetes.default.svc";
/// Where pods expect it.
pub(super) const PORT: u16 = 443;

/// Opens the door at an address; every connection goes on to the API server.
pub(super) async fn open(address: Ipv4Addr, api: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind((address, PORT)).await.context("cannot listen on the bridge")?;
    tokio::spawn(async move {
        while let Ok((mut inside, _)) = listener.accept().await {
            tokio::spawn(async move {
                if let Ok(mut outside) = TcpStream::connect(api).await {
                    // A connection that breaks is told to both ends by its end.
                    let _ = copy_bidirectional(&mut inside, &mut outside).await;
                }
            });
        }
    });
    Ok(())
}
