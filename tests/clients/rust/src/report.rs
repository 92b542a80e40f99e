//! Records what a client can do: one line of JSON for each operation (tests/clients/results.mjs).

use std::error::Error;
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::future::Future;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

pub type Check<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

static FAILURES: AtomicUsize = AtomicUsize::new(0);

/// One client in one mode.
pub struct Suite {
    pub client: &'static str,
    pub version: &'static str,
    pub api: &'static str,
    pub mode: &'static str,
}

impl Suite {
    /// An operation that does what the client's documentation promises, which `check` has compared.
    pub async fn works(&self, area: &str, operation: &str, check: impl Future<Output = Check>) {
        self.record(area, operation, "works", "", check).await;
    }

    /// An operation that does something else than with Azure; `check` notices when that ends.
    pub async fn differs(&self, area: &str, operation: &str, note: &str, check: impl Future<Output = Check>) {
        self.record(area, operation, "differs", note, check).await;
    }

    /// An operation that fails; `check` compares how.
    pub async fn not_offered(&self, area: &str, operation: &str, note: &str, check: impl Future<Output = Check>) {
        self.record(area, operation, "not_offered", note, check).await;
    }

    async fn record(&self, area: &str, operation: &str, verdict: &str, note: &str, check: impl Future<Output = Check>) {
        if let Err(error) = check.await {
            FAILURES.fetch_add(1, Ordering::Relaxed);
            println!("FAILED: {} {}, {area}: {operation}: {error}", self.client, self.mode);
            return;
        }
        let mut line = serde_json::json!({
            "client": self.client, "language": "Rust", "version": self.version, "api": self.api, "mode": self.mode,
            "area": area, "operation": operation, "result": verdict,
        });
        if !note.is_empty() {
            line["note"] = note.into();
        }
        let file = variable("OCTAVO_RESULTS");
        let mut file = OpenOptions::new().append(true).create(true).open(file).expect("the file of the results");
        writeln!(file, "{line}").expect("a written result");
    }
}

/// Ends the program: with 1 if a check has failed.
pub fn end() {
    if FAILURES.load(Ordering::Relaxed) > 0 {
        std::process::exit(1);
    }
}

pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

pub fn equal<A: PartialEq<B> + Debug, B: Debug>(got: A, want: B) -> Check {
    if got == want { Ok(()) } else { Err(format!("got {got:?}, want {want:?}").into()) }
}

pub fn holds(condition: bool, what: &str) -> Check {
    if condition { Ok(()) } else { Err(what.into()) }
}
