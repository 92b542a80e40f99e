//! Queries and change feeds of the Azure Cosmos DB client for Rust.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::process::Command;
use std::time::Duration;

use azure_data_cosmos::clients::{ContainerClient, DatabaseClient};
use azure_data_cosmos::feed::{ChangeFeedPageIterator, ContinuationToken};
use azure_data_cosmos::models::{
    ChangeFeedItem, ChangeFeedOperationType, ChangeFeedPolicy, ContainerProperties, PartitionKeyDefinition,
};
use azure_data_cosmos::options::{ChangeFeedMode, ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint, QueryOptions};
use azure_data_cosmos::{FeedScope, Query};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};

use crate::cosmos::{container, fails, new_client};
use crate::report::{Check, Suite, equal, holds};

const ITEMS: usize = 60;
const EMPTY_PAGES: usize = 5; // in a row: the feed has no more for now

pub async fn run(suite: &Suite, endpoint: &str, database: &DatabaseClient) {
    let items = container(database, "queried", 30_000).await.expect("a container"); // three physical partitions
    for n in 0..ITEMS {
        let pk = format!("k{}", n % 5);
        let item = json!({"id": format!("{n:04}"), "pk": pk, "n": n});
        items.create_item(pk, &format!("{n:04}"), &item, None).await.expect("an item");
    }
    queries(suite, endpoint, database, &items).await;
    hierarchical(suite, database).await;
    feeds(suite, &items).await;
    versions(suite, database).await;
}

async fn all(items: &ContainerClient, query: impl Into<Query>, scope: FeedScope) -> Check<Vec<Value>> {
    Ok(items.query_items::<Value>(query, scope, None).await?.try_collect().await?)
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["id"].as_str()).collect()
}

fn limit(count: u32) -> MaxItemCountHint {
    MaxItemCountHint::Limit(NonZeroU32::new(count).expect("a positive count"))
}

async fn queries(suite: &Suite, endpoint: &str, database: &DatabaseClient, items: &ContainerClient) {
    suite
        .works("queries", "of one partition key", async {
            let query = Query::from("SELECT * FROM c WHERE c.n < @n ORDER BY c.n DESC").with_parameter("@n", 20)?;
            equal(ids(&all(items, query, FeedScope::partition("k1")).await?), ["0016", "0011", "0006", "0001"])
        })
        .await;
    suite
        .works("queries", "of the whole container", async {
            equal(all(items, "SELECT * FROM c WHERE c.n >= 10", FeedScope::full_container()).await?.len(), ITEMS - 10)
        })
        .await;
    for (name, query, want) in [
        ("ORDER BY", "SELECT VALUE c.id FROM c WHERE c.n < 3 ORDER BY c.n DESC", json!(["0002", "0001", "0000"])),
        ("TOP", "SELECT TOP 2 VALUE c.id FROM c ORDER BY c.n", json!(["0000", "0001"])),
        ("OFFSET LIMIT", "SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 1 LIMIT 2", json!(["0001", "0002"])),
        ("DISTINCT", "SELECT DISTINCT VALUE c.pk FROM c ORDER BY c.pk", json!(["k0", "k1", "k2", "k3", "k4"])),
    ] {
        suite
            .works("queries", &format!("{name} over the whole container"), async {
                equal(Value::from(all(items, query, FeedScope::full_container()).await?), want)
            })
            .await;
    }
    for (name, query) in [("aggregates", "SELECT VALUE COUNT(1) FROM c"), ("GROUP BY", "SELECT c.pk FROM c GROUP BY c.pk")] {
        suite
            .not_offered("queries", &format!("{name} over the whole container"), "the client refuses them", async {
                fails(items.query_items::<Value>(query, FeedScope::full_container(), None).await.map(|_| ()), 400)
            })
            .await;
    }
    suite
        .works("queries", "aggregates of one partition key", async {
            equal(all(items, "SELECT VALUE COUNT(1) FROM c", FeedScope::partition("k1")).await?, [json!(12)])
        })
        .await;
    for (name, query) in [("without an order", "SELECT * FROM c"), ("with ORDER BY", "SELECT * FROM c ORDER BY c.n")] {
        suite
            .works("queries", &format!("a continuation resumed by another process, {name}"), async {
                let options = QueryOptions::default().with_max_item_count(limit(7));
                let mut pages = items.query_items::<Value>(query, FeedScope::full_container(), Some(options)).await?.into_pages();
                let page = pages.try_next().await?.ok_or("no page")?;
                let mut found: Vec<String> = ids(page.items()).into_iter().map(String::from).collect();
                let token = pages.to_continuation_token()?;
                let rest = Command::new(std::env::current_exe()?)
                    .args(["resume", endpoint, database.name().ok_or("no name")?, query, token.as_str()])
                    .output()?;
                found.extend(String::from_utf8(rest.stdout)?.lines().map(String::from));
                equal(found.len(), ITEMS)?;
                equal(found.iter().collect::<BTreeSet<_>>().len(), ITEMS)
            })
            .await;
    }
    suite
        .works("queries", "metrics of indexes and of the query", async {
            let options = QueryOptions::default().with_populate_index_metrics(true).with_populate_query_metrics(true);
            let mut pages = items
                .query_items::<Value>("SELECT * FROM c WHERE c.n = 1", FeedScope::partition("k1"), Some(options))
                .await?
                .into_pages();
            let page = pages.try_next().await?.ok_or("no page")?;
            holds(page.query_metrics().is_some_and(|text| text.contains("totalExecutionTimeInMs")), "no query metrics")?;
            holds(page.index_metrics().is_some(), "no index metrics")
        })
        .await;
    suite
        .works("queries", "an invalid query is refused (400)", async {
            let mut pages = items.query_items::<Value>("SELEC", FeedScope::partition("k1"), None).await?;
            fails(pages.try_next().await, 400)
        })
        .await;
    suite
        .works("feed ranges", "read_feed_ranges, and a query of each", async {
            let ranges = items.read_feed_ranges(None).await?;
            equal(ranges.len(), 3)?;
            let mut count = 0;
            for range in ranges {
                count += all(items, "SELECT * FROM c", FeedScope::range(range)).await?.len();
            }
            equal(count, ITEMS)
        })
        .await;
    suite
        .works("feed ranges", "feed_range_from_partition_key", async {
            let ranges = items.feed_range_from_partition_key("k1", None).await?;
            equal(ranges.len(), 1)?;
            equal(all(items, "SELECT * FROM c", FeedScope::range(ranges[0].clone())).await?.len(), ITEMS / 5)
        })
        .await;
}

/// Prints the ids of the rest of a query, in another process than that of its first page.
pub async fn resume() {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [endpoint, database, query, token] = arguments.as_slice() else { panic!("usage: resume ENDPOINT DATABASE QUERY TOKEN") };
    let client = new_client(endpoint, true).await.expect("a client");
    let items = client.database_client(database.clone()).container_client("queried", None).await.expect("a container");
    let options = QueryOptions::default().with_continuation_token(ContinuationToken::from_string(token.clone()));
    let rest = items.query_items::<Value>(query.as_str(), FeedScope::full_container(), Some(options)).await.expect("a query");
    let rest: Vec<Value> = rest.try_collect().await.expect("items");
    for id in ids(&rest) {
        println!("{id}");
    }
}

async fn hierarchical(suite: &Suite, database: &DatabaseClient) {
    suite
        .works("partition keys", "hierarchical, and queries of a prefix", async {
            let definition = PartitionKeyDefinition::new(vec!["/tenant".into(), "/user".into()]);
            database.create_container(ContainerProperties::new("deep", definition), None).await?;
            let deep = database.container_client("deep", None).await?;
            for (id, user) in [("1", "ann"), ("2", "bob"), ("3", "ann")] {
                deep.create_item(("acme", user), id, &json!({"id": id, "tenant": "acme", "user": user}), None).await?;
            }
            deep.read_item(("acme", "bob"), "2", None).await?;
            equal(all(&deep, "SELECT * FROM c", FeedScope::partition(("acme", "ann"))).await?.len(), 2)?;
            equal(all(&deep, "SELECT * FROM c", FeedScope::partition("acme")).await?.len(), 3)?;
            equal(all(&deep, "SELECT * FROM c", FeedScope::partition("none")).await?.len(), 0)?;
            equal(all(&deep, "SELECT * FROM c", FeedScope::full_container()).await?.len(), 3)
        })
        .await;
}

/// Reads a feed until nothing is new for now.
async fn drain(feed: &mut ChangeFeedPageIterator<ChangeFeedItem<Value>>) -> Check<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut empty = 0;
    while empty < EMPTY_PAGES {
        let page = feed.next().await.ok_or("the feed has ended")??;
        empty = if page.items().is_empty() { empty + 1 } else { 0 };
        found.extend(page.items().iter().filter_map(|item| item.current()?["id"].as_str().map(String::from)));
    }
    Ok(found)
}

async fn feeds(suite: &Suite, items: &ContainerClient) {
    suite
        .works("change feed", "from the beginning, then by its continuation", async {
            let options = ChangeFeedOptions::default().with_max_item_count(limit(7));
            let mut feed = items
                .query_change_feed::<Value>(FeedScope::full_container(), ChangeFeedStartFrom::Beginning, Some(options))
                .await?;
            equal(drain(&mut feed).await?.len(), ITEMS)?;
            let token = feed.to_continuation_token()?;
            items.upsert_item("k0", "0000", &json!({"id": "0000", "pk": "k0", "n": 0}), None).await?;
            let options = ChangeFeedOptions::default().with_continuation_token(token);
            let mut feed = items
                .query_change_feed::<Value>(FeedScope::full_container(), ChangeFeedStartFrom::Beginning, Some(options))
                .await?;
            equal(drain(&mut feed).await?, BTreeSet::from([String::from("0000")]))
        })
        .await;
    suite
        .works("change feed", "from now", async {
            let mut feed = items.query_change_feed::<Value>(FeedScope::full_container(), ChangeFeedStartFrom::Now, None).await?;
            equal(drain(&mut feed).await?.len(), 0)?;
            items.upsert_item("k1", "0001", &json!({"id": "0001", "pk": "k1", "n": 1}), None).await?;
            equal(drain(&mut feed).await?, BTreeSet::from([String::from("0001")]))
        })
        .await;
    suite
        .works("change feed", "of one partition key", async {
            let mut feed =
                items.query_change_feed::<Value>(FeedScope::partition("k2"), ChangeFeedStartFrom::Beginning, None).await?;
            equal(drain(&mut feed).await?.len(), ITEMS / 5)
        })
        .await;
}

async fn versions(suite: &Suite, database: &DatabaseClient) {
    suite
        .works("change feed", "all versions and deletes, from now", async {
            let policy = ChangeFeedPolicy::default().with_retention_duration(Duration::from_secs(600));
            let definition = ContainerProperties::new("versions", PartitionKeyDefinition::from("/pk"));
            database.create_container(definition.with_change_feed_policy(policy), None).await?;
            let items = database.container_client("versions", None).await?;
            let options = ChangeFeedOptions::default().with_mode(ChangeFeedMode::AllVersionsAndDeletes);
            let scope = FeedScope::full_container();
            let mut feed = items.query_change_feed::<Value>(scope, ChangeFeedStartFrom::Now, Some(options)).await?;
            equal(drain(&mut feed).await?.len(), 0)?;
            items.create_item("x", "1", &json!({"id": "1", "pk": "x", "n": 1}), None).await?;
            items.replace_item("x", "1", &json!({"id": "1", "pk": "x", "n": 2}), None).await?;
            items.delete_item("x", "1", None).await?;
            let mut seen = Vec::new();
            for _ in 0..EMPTY_PAGES {
                let page = feed.next().await.ok_or("the feed has ended")??;
                seen.extend(page.items().iter().map(|item| (item.operation_type(), item.current().map(|doc| doc["n"].clone()))));
            }
            use ChangeFeedOperationType::{Create, Delete, Replace};
            equal(seen, vec![(Some(Create), Some(json!(1))), (Some(Replace), Some(json!(2))), (Some(Delete), None)])
        })
        .await;
}
