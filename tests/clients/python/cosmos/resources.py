"""Accounts, databases, containers, throughput."""
from azure.cosmos import PartitionKey, ThroughputProperties, exceptions
from azure.core import MatchConditions

import azure.cosmos
import azure.cosmos.aio
from cosmos.client import KEY, URLS, every, settle
from record import raises

HttpError = exceptions.CosmosHttpResponseError
LEVELS = ("Strong", "BoundedStaleness", "Session", "ConsistentPrefix", "Eventual")


async def run(context):
    await accounts(context)
    await databases(context)
    await containers(context)
    await policies(context)
    await throughput(context)


async def accounts(context):
    works, client = context.record.works, context.client
    with works("account", "get_database_account"):
        get = getattr(client, "get_database_account", None) or client._get_database_account
        account = await settle(get())
        assert account.ConsistencyPolicy["defaultConsistencyLevel"] == "Session"
        assert len(account.WritableLocations) == 1
        assert account.WritableLocations[0]["databaseAccountEndpoint"].startswith(URLS[context.scheme])
    with works("account", "from_connection_string"):
        module = azure.cosmos.aio if context.is_async else azure.cosmos
        other = module.CosmosClient.from_connection_string(f"AccountEndpoint={URLS[context.scheme]}/;AccountKey={KEY};")
        assert any(one["id"] == context.database.id for one in await every(other.list_databases()))
        if context.is_async:
            await other.close()
    with works("account", "wrong key: 401"):
        with raises(HttpError, status_code=401):
            async with context.client_of("d3Jvbmc=") as wrong:
                await every(wrong.list_databases())
    container = await context.container()
    await settle(container.create_item({"id": "1", "pk": "a"}))
    for level in LEVELS:
        with works("account", f"consistency_level {level}"):
            async with context.client_of(consistency_level=level) as consistent:
                same = consistent.get_database_client(context.database.id).get_container_client(container.id)
                assert (await settle(same.read_item("1", "a")))["id"] == "1"
                await settle(same.upsert_item({"id": "1", "pk": "a", "level": level}))
                assert (await settle(same.read_item("1", "a")))["level"] == level
                assert len(await context.query(same, "SELECT * FROM c")) == 1
    with works("account", "session tokens"):
        written = await settle(container.upsert_item({"id": "2", "pk": "a"}))
        token = written.get_response_headers()["x-ms-session-token"]
        ranges = await every(container.read_feed_ranges())
        latest = await settle(container.get_latest_session_token([(ranges[0], token)], ranges[0]))
        assert latest
        async with context.client_of() as other:
            same = other.get_database_client(context.database.id).get_container_client(container.id)
            assert (await settle(same.read_item("2", "a", session_token=latest)))["id"] == "2"


async def databases(context):
    works, client = context.record.works, context.client
    name = f"Größe & Maß 100% {context.kind} {context.scheme}"
    with works("databases", "create_database"):
        database = await settle(client.create_database(name))
        assert (await settle(database.read()))["id"] == name
        with raises(exceptions.CosmosResourceExistsError, status_code=409):
            await settle(client.create_database(name))
    with works("databases", "create_database_if_not_exists"):
        assert (await settle(client.create_database_if_not_exists(name))).id == name
    with works("databases", "list_databases"):
        assert name in [one["id"] for one in await every(client.list_databases(max_item_count=1))]
    with works("databases", "query_databases"):
        found = await every(client.query_databases(
            "SELECT * FROM root r WHERE r.id = @id", parameters=[{"name": "@id", "value": name}]))
        assert [one["id"] for one in found] == [name]
    with works("databases", "delete_database"):
        await settle(client.delete_database(name))
        with raises(exceptions.CosmosResourceNotFoundError, status_code=404):
            await settle(client.get_database_client(name).read())


async def containers(context):
    works, database = context.record.works, context.database
    key = PartitionKey(path="/pk")
    with works("containers", "create_container"):
        container = await settle(database.create_container("Ünïted +1", key, default_ttl=3600))
        read = await settle(container.read())
        assert (read["id"], read["defaultTtl"], read["partitionKey"]["paths"]) == ("Ünïted +1", 3600, ["/pk"])
        with raises(exceptions.CosmosResourceExistsError, status_code=409):
            await settle(database.create_container("Ünïted +1", key))
    with works("containers", "create_container_if_not_exists"):
        same = await settle(database.create_container_if_not_exists("Ünïted +1", key))
        assert (await settle(same.read()))["_rid"] == read["_rid"]
    with works("containers", "read with quota and statistics"):
        headers = {}
        await settle(container.read(populate_partition_key_range_statistics=True, populate_quota_info=True,
                                    response_hook=lambda h, *_: headers.update(h)))
        assert "documentsCount" in headers["x-ms-resource-usage"]
    with works("containers", "list_containers"):
        assert "Ünïted +1" in [one["id"] for one in await every(database.list_containers(max_item_count=1))]
    with works("containers", "query_containers"):
        found = await every(database.query_containers("SELECT * FROM c WHERE c.id = @id",
                                                      parameters=[{"name": "@id", "value": "Ünïted +1"}]))
        assert [one["id"] for one in found] == ["Ünïted +1"]
    with works("containers", "replace_container"):
        await settle(database.replace_container(container, key, default_ttl=60,
                                                indexing_policy={"indexingMode": "none", "automatic": False}))
        read = await settle(container.read())
        assert (read["defaultTtl"], read["indexingPolicy"]["indexingMode"]) == (60, "none")
    with works("containers", "read_feed_ranges"):
        ranges = await every(container.read_feed_ranges())
        assert len(ranges) == 1
    with works("containers", "feed_range_from_partition_key, is_feed_range_subset"):
        one = await settle(container.feed_range_from_partition_key("a"))
        assert await settle(container.is_feed_range_subset(ranges[0], one))
        assert not await settle(container.is_feed_range_subset(one, ranges[0]))
    with works("containers", "delete_container"):
        await settle(database.delete_container("Ünïted +1"))
        with raises(exceptions.CosmosResourceNotFoundError, status_code=404):
            await settle(container.read())


async def policies(context):
    works, not_offered = context.record.works, context.record.not_offered
    with works("containers", "indexing_policy"):
        policy = {"indexingMode": "consistent", "automatic": True, "includedPaths": [{"path": "/*"}],
                  "excludedPaths": [{"path": "/large/*"}],
                  "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]]}
        read = await settle((await context.container(indexing_policy=policy)).read())
        assert read["indexingPolicy"]["compositeIndexes"] == policy["compositeIndexes"]
        assert {"path": "/large/*"} in read["indexingPolicy"]["excludedPaths"]
    with works("containers", "unique_key_policy"):
        container = await context.container(unique_key_policy={"uniqueKeys": [{"paths": ["/email"]}]})
        await settle(container.create_item({"id": "1", "pk": "a", "email": "x"}))
        with raises(HttpError, status_code=409):
            await settle(container.create_item({"id": "2", "pk": "a", "email": "x"}))
    with works("containers", "conflict_resolution_policy"):
        policy = {"mode": "LastWriterWins", "conflictResolutionPath": "/_ts"}
        read = await settle((await context.container(conflict_resolution_policy=policy)).read())
        assert read["conflictResolutionPolicy"]["mode"] == "LastWriterWins"
    with works("containers", "computed_properties"):
        container = await context.container(computed_properties=[
            {"name": "low", "query": "SELECT VALUE LOWER(c.name) FROM c"}])
        await settle(container.create_item({"id": "1", "pk": "a", "name": "ANN"}))
        assert await context.query(container, "SELECT VALUE c.low FROM c") == ["ann"]
    vectors = {"vectorEmbeddings": [
        {"path": "/v", "dataType": "float32", "distanceFunction": "cosine", "dimensions": 3}]}
    with not_offered("containers", "vector_embedding_policy", "vector search is not offered: 400"):
        with raises(HttpError, status_code=400):
            await context.container(vector_embedding_policy=vectors)
    texts = {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/t", "language": "en-US"}]}
    with not_offered("containers", "full_text_policy", "full-text search in SQL is not offered: 400. The CouchDB API has it"):
        with raises(HttpError, status_code=400):
            await context.container(full_text_policy=texts)
    with not_offered("containers", "analytical_storage_ttl", "400 until analytics are enabled (analytics.enabled)"):
        with raises(HttpError, status_code=400):
            await context.container(analytical_storage_ttl=-1)


async def throughput(context):
    works = context.record.works
    with works("throughput", "create_container, offer_throughput"):
        container = await context.container(offer_throughput=1000)
        properties = await settle(container.get_throughput())
        assert properties.offer_throughput == 1000
    with works("throughput", "replace_throughput"):
        assert (await settle(container.replace_throughput(1200))).offer_throughput == 1200
        assert (await settle(container.get_throughput())).offer_throughput == 1200
    with works("throughput", "autoscale"):
        asked = ThroughputProperties(auto_scale_max_throughput=5000, auto_scale_increment_percent=2)
        automatic = await context.container(offer_throughput=asked)
        read = await settle(automatic.get_throughput())
        assert (read.auto_scale_max_throughput, read.auto_scale_increment_percent) == (5000, 2)
        asked = ThroughputProperties(auto_scale_max_throughput=7000, auto_scale_increment_percent=20)
        await settle(automatic.replace_throughput(asked))
        read = await settle(automatic.get_throughput())
        assert (read.auto_scale_max_throughput, read.auto_scale_increment_percent) == (7000, 20)
    with works("throughput", "too low: 400"):
        with raises(HttpError, status_code=400):
            await context.container(offer_throughput=ThroughputProperties(auto_scale_max_throughput=200))
    with works("throughput", "of a database"):
        name = f"shared {context.kind} {context.scheme}"
        database = await settle(context.client.create_database(name, offer_throughput=600))
        assert (await settle(database.get_throughput())).offer_throughput == 600
        assert (await settle(database.replace_throughput(800))).offer_throughput == 800
        await settle(context.client.delete_database(name, match_condition=MatchConditions.IfModified, etag="x"))
