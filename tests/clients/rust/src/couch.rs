//! couch_rs, a CouchDB client for Rust.

use std::time::Duration;

use couch_rs::database::Database;
use couch_rs::types::find::FindQuery;
use couch_rs::types::index::IndexFields;
use couch_rs::types::query::QueryParams;
use couch_rs::{Client, document::DocumentCollection, types::find::SortSpec};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::report::{Suite, equal, holds, variable};

const DOCS: usize = 100;

pub async fn run() {
    let suite = Suite { client: "couch_rs", version: "0.13.1", api: "couch", mode: "async" };
    let client = Client::new(&variable("OCTAVO_COUCH_URL"), &variable("OCTAVO_USER"), &variable("OCTAVO_PASSWORD"));
    let client = client.expect("a client");
    suite
        .works("server", "check_status, membership, list_dbs", async {
            holds(client.check_status().await?.version.starts_with("3.5"), "another version")?;
            client.membership().await?;
            holds(!client.list_dbs().await?.contains(&String::from("rust")), "the database exists")
        })
        .await;
    suite
        .works("databases", "make_db, get_info, destroy_db", async {
            client.make_db("rust-destroyed").await?;
            holds(client.list_dbs().await?.contains(&String::from("rust-destroyed")), "it does not exist")?;
            equal(client.get_info("rust-destroyed").await?.doc_count, 0)?;
            holds(client.destroy_db("rust-destroyed").await?, "it was not destroyed")?;
            holds(!client.list_dbs().await?.contains(&String::from("rust-destroyed")), "it exists")
        })
        .await;
    let db = client.db("rust").await.expect("a database");
    documents(&suite, &db).await;
    listings(&suite, &db).await;
    changes(&suite, &db).await;
}

async fn documents(suite: &Suite, db: &Database) {
    suite
        .works("documents", "create, get, save, upsert, exists, remove", async {
            let mut doc = json!({"_id": "a/b ü+😀", "n": 1});
            db.create(&mut doc).await?;
            let mut read = db.get::<Value>("a/b ü+😀").await?;
            equal(read["n"].clone(), 1)?;
            read["n"] = json!(2);
            db.save(&mut read).await?;
            equal(db.get_raw("a/b ü+😀").await?["n"].clone(), 2)?;
            let conflict = db.save(&mut json!({"_id": "a/b ü+😀", "_rev": "1-0123456789abcdef0123456789abcdef"})).await;
            holds(conflict.is_err_and(|error| error.status().is_some_and(|status| status.as_u16() == 409)), "no conflict")?;
            db.upsert(&mut json!({"_id": "a/b ü+😀", "n": 3})).await?;
            holds(db.exists("a/b ü+😀").await, "it does not exist")?;
            db.remove(&db.get::<Value>("a/b ü+😀").await?).await?;
            holds(db.get_raw("a/b ü+😀").await.is_err_and(|error| error.is_not_found()), "it is there")
        })
        .await;
    suite
        .works("documents", "bulk_docs, bulk_upsert, get_bulk", async {
            let mut docs: Vec<Value> = (0..DOCS).map(|n| json!({"_id": format!("doc{n:03}"), "n": n})).collect();
            let results = db.bulk_docs(&mut docs).await?;
            equal(results.iter().filter(|result| result.is_ok()).count(), DOCS)?;
            let mut changed = vec![json!({"_id": "doc000", "n": 0, "again": true})];
            holds(db.bulk_upsert(&mut changed).await?[0].is_ok(), "not written")?;
            equal(db.get_bulk::<Value>(vec!["doc001".into(), "doc002".into()]).await?.rows.len(), 2)
        })
        .await;
}

async fn listings(suite: &Suite, db: &Database) {
    suite
        .works("listings", "get_all, get_all_params, get_all_batched", async {
            equal(db.get_all::<Value>().await?.rows.len(), DOCS)?;
            let params = QueryParams::default().start_key(String::from("doc010")).end_key(String::from("doc019"));
            equal(db.get_all_params::<Value>(Some(params)).await?.rows.len(), 10)?;
            let (sender, mut receiver) = tokio::sync::mpsc::channel::<DocumentCollection<Value>>(8);
            let batches = tokio::spawn(async move {
                let mut count = 0;
                while let Some(batch) = receiver.recv().await {
                    count += batch.rows.len();
                }
                count
            });
            db.get_all_batched(sender, 30, 0).await?;
            equal(batches.await?, DOCS)
        })
        .await;
    suite
        .works("views", "create_view, query_raw, get_design_info", async {
            db.create_view("d", json!({"views": {"by_n": {"map": "function (doc) { emit(doc.n, 1); }", "reduce": "_sum"}}}))
                .await?;
            let params = QueryParams::default().reduce(false).key(json!(7));
            let rows = db.query_raw("d", "by_n", Some(params)).await?;
            equal(rows.rows[0].id.clone(), Some(String::from("doc007")))?;
            let sum = db.query_raw("d", "by_n", None::<QueryParams<Value>>).await?;
            equal(sum.rows[0].value.clone(), DOCS)?;
            db.get_design_info("d").await?;
            Ok(())
        })
        .await;
    suite
        .works("queries", "insert_index, read_indexes, find, delete_index", async {
            let fields = || IndexFields { fields: vec![SortSpec::Simple(String::from("n"))] };
            let made = db.insert_index("n", fields(), None, None).await?;
            holds(made.error.is_none(), "no index")?;
            equal(db.read_indexes().await?.indexes.len(), 2)?;
            let query = FindQuery::new(json!({"n": {"$gte": 90}})).sort(vec![SortSpec::Simple(String::from("n"))]).limit(3);
            let found = db.find::<Value>(&query).await?;
            equal(found.rows.iter().map(|doc| doc["_id"].clone()).collect::<Vec<_>>(), ["doc090", "doc091", "doc092"])?;
            let id = made.id.ok_or("no id")?;
            holds(db.delete_index(id, String::from("n")).await?, "the index was not deleted")
        })
        .await;
}

async fn changes(suite: &Suite, db: &Database) {
    suite
        .works("changes", "changes, until all are read and beyond", async {
            let mut stream = db.changes(None);
            stream.set_infinite(false);
            let mut count = 0;
            while let Some(change) = stream.next().await {
                change?;
                count += 1;
            }
            holds(count >= DOCS, "too few changes")?;
            let mut live = db.changes(stream.last_seq().cloned());
            live.set_infinite(true);
            db.save(&mut json!({"_id": "live"})).await?;
            let change = tokio::time::timeout(Duration::from_secs(20), live.next()).await?.ok_or("the feed has ended")??;
            equal(change.id, "live")
        })
        .await;
}
