//! What runs in pods of tests: serves a word over HTTP, or asks another for it.
//!
//! `peer serve PORT WORD` answers every request with the word, and with 503 from `/close` on until `/open`.
//! `peer ask HOST:PORT` prints what it is answered.
#![expect(clippy::print_stdout, reason = "prints what it is answered")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", port, word] => serve(port.parse().context("not a port")?, word),
        ["ask", address] => ask(address),
        _ => bail!("usage: peer serve PORT WORD | peer ask HOST:PORT"),
    }
}

fn serve(port: u16, word: &str) -> Result<()> {
    // On loopback pods differ by their addresses alone.
    let address = std::env::var("POD_IP").unwrap_or_else(|_| "0.0.0.0".to_owned());
    let listener = TcpListener::bind((address.as_str(), port)).context("cannot listen")?;
    let mut is_open = true;
    for stream in listener.incoming() {
        // A caller who hangs up is no reason to end.
        let _ = stream.map(|stream| answer(stream, word, &mut is_open));
    }
    Ok(())
}

fn answer(mut stream: TcpStream, word: &str, is_open: &mut bool) -> Result<()> {
    let mut request = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.read_line(&mut request)?;
    while reader.read_line(&mut String::new())? > 2 {}
    match request.split(' ').nth(1) {
        Some("/open") => *is_open = true,
        Some("/close") => *is_open = false,
        _ => {}
    }
    let status = if *is_open { "200 OK" } else { "503 Service Unavailable" };
    let length = word.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{word}")?;
    Ok(())
}

fn ask(address: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address).context("cannot connect")?;
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    println!("{}", answer.lines().last().unwrap_or_default());
    Ok(())
}
