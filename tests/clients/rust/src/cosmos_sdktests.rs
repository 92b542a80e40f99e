//! The tests of the Azure Cosmos DB client for Rust that its authors run against Microsoft's emulator, which install.sh
//! compiles.

use std::collections::BTreeMap;
use std::process::Command;

use crate::report::{Suite, holds, variable};

struct Deviation {
    name: &'static str,
    note: &'static str,
    /// By the test.
    prints: &'static str,
}

/// What these tests expect of the emulator that Octavo does otherwise.
const DIFFERING: &[Deviation] = &[
    Deviation {
        name: "cosmos_change_feed::all_versions_and_deletes_rejects_point_in_time_start",
        note: "all versions can be read from a time on",
        prints: "PointInTime start must be rejected",
    },
    Deviation {
        name: "cosmos_hpk::hpk_query_cross_partition_advanced_not_servable",
        note: "the plan of such a query is answered, and the client refuses it itself with another status than Azure's",
        prints: "ClientUnsupportedQueryFeature",
    },
    Deviation {
        name: "cosmos_items::v1_container_item_crud",
        note: "a container that is created without a version of its key has version 2, which replies name; Azure's has version 1",
        prints: "must omit partitionKey.version",
    },
];

struct Run {
    verdicts: BTreeMap<String, String>,
    printed: BTreeMap<String, String>,
}

/// Reads what the program prints: `test NAME ... VERDICT`, and later `---- NAME stdout ----` before what failed tests have
/// printed.
fn parse(output: &str) -> Run {
    let mut run = Run { verdicts: BTreeMap::new(), printed: BTreeMap::new() };
    let mut printing = None;
    for line in output.lines() {
        if let Some((name, verdict)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            run.verdicts.insert(name.to_string(), verdict.to_string());
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            printing = Some(name.to_string());
        } else if line == "failures:" {
            printing = None;
        } else if let Some(name) = &printing {
            let text = run.printed.entry(name.clone()).or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
    run
}

pub async fn run() {
    let program = std::env::args().nth(2).expect("the program with the tests");
    let endpoint = variable("OCTAVO_COSMOS_HTTPS_URL").replace("localhost", "127.0.0.1");
    let output = Command::new(program)
        .env(
            "AZURE_COSMOS_CONNECTION_STRING",
            format!("AccountEndpoint={endpoint}/;AccountKey={};", variable("OCTAVO_COSMOS_KEY")),
        )
        .env("AZURE_COSMOS_ALLOW_INVALID_CERT", "true")
        .env("AZURE_COSMOS_TEST_MODE", "required")
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("the tests of the client");
    let run = parse(&String::from_utf8_lossy(&output.stdout));
    assert!(!run.verdicts.is_empty(), "{output:?}");

    let suite = Suite { client: "azure_data_cosmos", version: "1.0.0", api: "cosmos", mode: "own tests" };
    for (name, verdict) in &run.verdicts {
        // The framework's own tests, and those of proxies, use no server.
        if verdict.starts_with("ignored") || name.contains("::framework::") || name.contains("::cosmos_proxy::") {
            continue;
        }
        let operation = name.strip_prefix("emulator_tests::").unwrap_or(name);
        let printed = run.printed.get(name).map(String::as_str).unwrap_or_default();
        if let Some(found) = DIFFERING.iter().find(|one| one.name == operation) {
            let check = async {
                holds(verdict == "FAILED", "passes")?;
                holds(printed.contains(found.prints), printed)
            };
            suite.differs("emulator tests", operation, found.note, check).await;
        } else {
            suite.works("emulator tests", operation, async { holds(verdict == "ok", printed) }).await;
        }
    }
}
