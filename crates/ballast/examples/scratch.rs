#[path = "../tests/console/cluster.rs"]
mod cluster;
use ballast_core::units::*;
#[tokio::main]
async fn main() {
    let feed = ballast::console::Feed::new();
    let l = tokio::net::TcpListener::bind("127.0.0.1:7999").await.unwrap();
    let f = feed.clone();
    tokio::spawn(async move {
        let mut n = 0i64;
        for i in 0..200 {
            let mut v = cluster::busy();
            v.now = v.now + Span::from_secs((i - 200) * 30);
            let keep = 20 + ((i as f64 / 20.0).sin() * 15.0) as usize;
            v.nodes.truncate(keep + 15);
            v.pending[2].count = ((i * 7) % 60) as u32;
            v.cost_per_hour = Money::from_f64(200.0 + (i as f64 / 15.0).sin() * 80.0).unwrap();
            f.publish(v);
        }
        loop {
            let mut v =
                if std::env::args().nth(1).is_some() { cluster::large(1500) } else { cluster::busy() };
            v.now = v.now + Span::from_secs(n * 10);
            v.plans += n as u64;
            v.pending.iter_mut().for_each(|p| p.count += (n % 3) as u32);
            f.publish(v);
            n += 1;
            tokio::time::sleep(std::time::Duration::from_millis(1000)).await;
        }
    });
    ballast::console::serve(l, feed).await.unwrap();
}
