//! The Azure Cosmos DB client for Rust.

use azure_data_cosmos::clients::{ContainerClient, DatabaseClient};
use azure_data_cosmos::models::{
    ContainerProperties, CosmosNumber, PartitionKeyDefinition, PatchInstructions, PatchOperation, ThroughputProperties,
};
use azure_data_cosmos::options::{
    BatchOptions, BinaryEncodingOptions, ConnectionPoolOptions, ContentResponseOnWrite, CreateContainerOptions, ItemReadOptions,
    ItemWriteOptions, OperationOptions, OperationOptionsBuilder, PatchItemOptions, PatchStrategy, Precondition,
    ReadConsistencyStrategy, Region, ServerCertificateValidation,
};
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosClient, CosmosRuntime, PartitionKey, Query, RoutingStrategy, TransactionalBatch,
};
use futures::TryStreamExt;
use serde_json::{Value, json};

use crate::report::{Check, Suite, equal, holds, variable};

pub type Outcome<T> = Result<T, azure_data_cosmos::CosmosError>;

pub async fn run() {
    let modes = [
        ("https", "OCTAVO_COSMOS_HTTPS_URL", true),
        ("http", "OCTAVO_COSMOS_URL", true),
        ("http-text", "OCTAVO_COSMOS_URL", false), // bodies are text, not binary JSON
    ];
    for (mode, endpoint, binary) in modes {
        let endpoint = variable(endpoint);
        let suite = Suite { client: "azure_data_cosmos", version: "1.0.0", api: "cosmos", mode };
        let client = new_client(&endpoint, binary).await.expect("a client");
        resources(&suite, &client).await;
        let database = client.database_client(format!("rust-{mode}"));
        items(&suite, &database).await;
        keys(&suite, &database).await;
        batches(&suite, &database).await;
        crate::cosmos_feeds::run(&suite, &endpoint, &database).await;
    }
}

pub async fn new_client(endpoint: &str, binary: bool) -> Check<CosmosClient> {
    // The certificate is the server's own: rustls takes it for an authority only.
    let pool = ConnectionPoolOptions::builder()
        .with_server_certificate_validation(ServerCertificateValidation::RequiredUnlessEmulator)
        .build()?;
    let runtime = CosmosRuntime::builder().with_connection_pool(pool).build().await?;
    let endpoint: AccountEndpoint = endpoint.parse()?;
    let account = AccountReference::with_authentication_key(endpoint, variable("OCTAVO_COSMOS_KEY"));
    let builder = CosmosClient::builder()
        .with_runtime(runtime)
        .with_binary_encoding_options(BinaryEncodingOptions::new().with_enabled(binary));
    Ok(builder.build(account, RoutingStrategy::ProximityTo(Region::EAST_US)).await?)
}

/// A container with the key /pk.
pub async fn container(database: &DatabaseClient, id: &'static str, throughput: u64) -> Check<ContainerClient> {
    let definition = ContainerProperties::new(id, PartitionKeyDefinition::from("/pk"));
    let options = CreateContainerOptions::default().with_throughput(ThroughputProperties::manual(throughput));
    database.create_container(definition, Some(options)).await?;
    Ok(database.container_client(id, None).await?)
}

/// Checks the status of an error.
pub fn fails<T>(outcome: Outcome<T>, status: u16) -> Check {
    match outcome {
        Ok(_) => Err(format!("no error; want {status}").into()),
        Err(error) => equal(u16::from(error.status()), status),
    }
}

fn with_body() -> OperationOptions {
    OperationOptionsBuilder::new().with_content_response_on_write(ContentResponseOnWrite::Enabled).build()
}

async fn resources(suite: &Suite, client: &CosmosClient) {
    let id = format!("rust-{}", suite.mode);
    let database = client.database_client(id.clone());
    suite
        .works("databases", "create_database", async {
            let created = client.create_database(&id, None).await?;
            equal(created.into_model()?.id, Some(id.clone()))?;
            fails(client.create_database(&id, None).await, 409)
        })
        .await;
    suite
        .works("databases", "read", async {
            equal(database.read(None).await?.into_model()?.id, Some(id.clone()))?;
            fails(client.database_client("none").read(None).await, 404)
        })
        .await;
    suite
        .works("databases", "query_databases", async {
            let query = Query::from("SELECT * FROM c WHERE c.id = @id").with_parameter("@id", &id)?;
            let found: Vec<_> = client.query_databases(query, None).await?.try_collect().await?;
            equal(found.len(), 1)
        })
        .await;
    suite
        .works("databases", "delete", async {
            client.create_database("rust-deleted", None).await?;
            client.database_client("rust-deleted").delete(None).await?;
            fails(client.database_client("rust-deleted").read(None).await, 404)
        })
        .await;
    suite
        .works("containers", "create_container, read, replace, delete", async {
            let definition = ContainerProperties::new("defined", PartitionKeyDefinition::from("/pk")).with_default_ttl(3600);
            database.create_container(definition, None).await?;
            let container = database.container_client("defined", None).await?;
            let mut read = container.read(None).await?.into_model()?;
            equal(json!(read.default_ttl), json!(3600))?;
            read.default_ttl = 60.into();
            container.replace(read, None).await?;
            equal(json!(container.read(None).await?.into_model()?.default_ttl), json!(60))?;
            container.delete(None).await?;
            fails(container.read(None).await, 404)
        })
        .await;
    suite
        .works("containers", "query_containers", async {
            container(&database, "listed", 400).await?;
            let found: Vec<_> =
                database.query_containers("SELECT * FROM c WHERE c.id = 'listed'", None).await?.try_collect().await?;
            equal(found.len(), 1)
        })
        .await;
    suite
        .works("throughput", "read_throughput, begin_replace_throughput of a container", async {
            let container = container(&database, "measured", 500).await?;
            equal(container.read_throughput(None).await?.and_then(|one| one.throughput()), Some(500))?;
            container.begin_replace_throughput(ThroughputProperties::autoscale(4000, None), None).await?.await?;
            equal(container.read_throughput(None).await?.and_then(|one| one.autoscale_maximum()), Some(4000))
        })
        .await;
    suite
        .works("throughput", "read_throughput of a database without one", async {
            holds(database.read_throughput(None).await?.is_none(), "it has one")
        })
        .await;
}

async fn items(suite: &Suite, database: &DatabaseClient) {
    let items = container(database, "items", 400).await.expect("a container");
    let writing = || ItemWriteOptions::default().with_operation_options(with_body());
    suite
        .works("items", "create_item", async {
            let created = items.create_item("x", "1", &json!({"id": "1", "pk": "x", "name": "Ä ü 😀"}), Some(writing())).await?;
            equal(u16::from(created.status()), 201)?;
            holds(created.headers().request_charge().is_some(), "no charge")?;
            equal(created.into_model::<Value>()?["name"].clone(), "Ä ü 😀")?;
            fails(items.create_item("x", "1", &json!({"id": "1", "pk": "x"}), None).await, 409)
        })
        .await;
    suite
        .works("items", "read_item", async {
            equal(items.read_item("x", "1", None).await?.into_model::<Value>()?["id"].clone(), "1")?;
            fails(items.read_item("x", "none", None).await, 404)?;
            fails(items.read_item("other", "1", None).await, 404)
        })
        .await;
    suite
        .works("items", "upsert_item", async {
            equal(u16::from(items.upsert_item("x", "2", &json!({"id": "2", "pk": "x"}), None).await?.status()), 201)?;
            equal(u16::from(items.upsert_item("x", "2", &json!({"id": "2", "pk": "x", "n": 1}), None).await?.status()), 200)
        })
        .await;
    suite
        .works("items", "replace_item with a precondition", async {
            let read = items.read_item("x", "2", None).await?;
            let etag = read.headers().etag().ok_or("no ETag")?.clone();
            let options = || Some(ItemWriteOptions::default().with_precondition(Precondition::if_match(etag.clone())));
            items.replace_item("x", "2", &json!({"id": "2", "pk": "x", "n": 2}), options()).await?;
            fails(items.replace_item("x", "2", &json!({"id": "2", "pk": "x", "n": 3}), options()).await, 412)?;
            fails(items.replace_item("x", "none", &json!({"id": "none", "pk": "x"}), None).await, 404)
        })
        .await;
    for (name, strategy) in [("by the server", PatchStrategy::ServerSide), ("by the client", PatchStrategy::ClientSide)] {
        suite
            .works("items", &format!("patch_item {name}"), async {
                items.upsert_item("x", "3", &json!({"id": "3", "pk": "x", "n": 1, "tags": ["a"], "old": 1}), None).await?;
                let patch = PatchInstructions::new()
                    .with_operation(PatchOperation::set("/name", json!("new")))
                    .with_operation(PatchOperation::add("/tags/-", json!("b")))
                    .with_operation(PatchOperation::increment("/n", CosmosNumber::from(41i64)))
                    .with_operation(PatchOperation::remove("/old"));
                items.patch_item("x", "3", patch, Some(PatchItemOptions::default().with_strategy(strategy))).await?;
                let item: Value = items.read_item("x", "3", None).await?.into_model()?;
                equal(json!([item["name"], item["tags"], item["n"], item["old"]]), json!(["new", ["a", "b"], 42, null]))
            })
            .await;
    }
    for strategy in
        [ReadConsistencyStrategy::Eventual, ReadConsistencyStrategy::Session, ReadConsistencyStrategy::LatestCommitted]
    {
        suite
            .works("consistency", strategy.as_str(), async {
                items.upsert_item("x", "level", &json!({"id": "level", "pk": "x", "level": strategy.as_str()}), None).await?;
                let operation = OperationOptionsBuilder::new().with_read_consistency_strategy(strategy).build();
                let options = ItemReadOptions::default().with_operation_options(operation);
                let read: Value = items.read_item("x", "level", Some(options)).await?.into_model()?;
                equal(read["level"].clone(), strategy.as_str())
            })
            .await;
    }
    suite
        .works("items", "delete_item", async {
            items.delete_item("x", "3", None).await?;
            fails(items.delete_item("x", "3", None).await, 404)
        })
        .await;
}

async fn keys(suite: &Suite, database: &DatabaseClient) {
    let typed = container(database, "typed", 400).await.expect("a container");
    let keys: [(&str, PartitionKey, Value); 6] = [
        ("text", "a/b%:,\"é😀".into(), json!("a/b%:,\"é😀")),
        ("number", 42i64.into(), json!(42)),
        ("fraction", PartitionKey::try_from(-1.5f64).expect("a number"), json!(-1.5)),
        ("bool", true.into(), json!(true)),
        ("null", PartitionKey::NULL.into(), Value::Null),
        ("empty text", "".into(), json!("")),
    ];
    for (name, key, value) in keys {
        suite
            .works("partition keys", name, async {
                typed.create_item(key.clone(), "1", &json!({"id": "1", "pk": value}), None).await?;
                let read: Value = typed.read_item(key.clone(), "1", None).await?.into_model()?;
                equal(read["pk"].clone(), value)
            })
            .await;
    }
    suite
        .works("partition keys", "undefined", async {
            typed.create_item(PartitionKey::UNDEFINED, "1", &json!({"id": "1"}), None).await?;
            let read: Value = typed.read_item(PartitionKey::UNDEFINED, "1", None).await?.into_model()?;
            equal(read["id"].clone(), "1")
        })
        .await;
    for id in ["Ünï 😀", "a b", "a%20b", "a+b", "it's \"quoted\"", "a;b=c&d", "a?b", "trailing "] {
        suite
            .works("ids", &format!("`{}`", id.replace(' ', "␣")), async {
                typed.create_item("ids", id, &json!({"id": id, "pk": "ids"}), None).await?;
                let read: Value = typed.read_item("ids", id, None).await?.into_model()?;
                equal(read["id"].clone(), id)?;
                typed.delete_item("ids", id, None).await?;
                Ok(())
            })
            .await;
    }
}

async fn batches(suite: &Suite, database: &DatabaseClient) {
    let items = container(database, "batches", 400).await.expect("a container");
    suite
        .works("batches", "every operation", async {
            let batch = TransactionalBatch::new("x")
                .create_item(json!({"id": "1", "pk": "x"}))?
                .upsert_item(json!({"id": "2", "pk": "x"}), None)?
                .replace_item("1", json!({"id": "1", "pk": "x", "n": 1}), None)?
                .read_item("1", None)
                .delete_item("2", None);
            let done = items
                .execute_transactional_batch(batch, Some(BatchOptions::default().with_operation_options(with_body())))
                .await?;
            let done = done.into_model()?;
            equal(done.results().iter().map(|one| one.status_code()).collect::<Vec<_>>(), [201, 201, 200, 200, 204])?;
            equal(done.results()[3].into_model::<Value>()?.ok_or("no body")?["n"].clone(), 1)
        })
        .await;
    suite
        .works("batches", "one failure undoes all (424)", async {
            let batch = TransactionalBatch::new("x")
                .create_item(json!({"id": "3", "pk": "x"}))?
                .create_item(json!({"id": "1", "pk": "x"}))?;
            let done = items.execute_transactional_batch(batch, None).await?.into_model()?;
            equal(done.results().iter().map(|one| one.status_code()).collect::<Vec<_>>(), [424, 409])?;
            fails(items.read_item("x", "3", None).await, 404)
        })
        .await;
}
