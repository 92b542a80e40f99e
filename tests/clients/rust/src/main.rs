//! Clients for Rust: `octavo-clients cosmos`, `octavo-clients cosmos_sdktests PROGRAM` and `octavo-clients couch`.

mod cosmos;
mod cosmos_feeds;
mod cosmos_sdktests;
mod couch;
mod report;

#[tokio::main]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("cosmos") => cosmos::run().await,
        Some("cosmos_sdktests") => cosmos_sdktests::run().await,
        Some("resume") => cosmos_feeds::resume().await,
        Some("couch") => couch::run().await,
        _ => panic!("usage: octavo-clients cosmos | cosmos_sdktests PROGRAM | couch"),
    }
    report::end();
}
