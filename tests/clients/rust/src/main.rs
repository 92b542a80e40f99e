//! Clients for Rust: `octavo-clients cosmos` and `octavo-clients couch`.

mod cosmos;
mod cosmos_feeds;
mod couch;
mod report;

#[tokio::main]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("cosmos") => cosmos::run().await,
        Some("resume") => cosmos_feeds::resume().await,
        Some("couch") => couch::run().await,
        _ => panic!("usage: octavo-clients cosmos | couch"),
    }
    report::end();
}
