"""azure-cosmos 3, whose samples address resources by their `_self` links."""
import os

from azure.cosmos import cosmos_client, documents, errors

from record import Record, finish, raises

HttpError = errors.HTTPFailure
KEY = {"masterKey": os.environ["OCTAVO_COSMOS_KEY"]}
ACROSS = {"enableCrossPartitionQuery": True}


def connect(url, **more):
    policy = documents.ConnectionPolicy()
    policy.SSLConfiguration = documents.SSLConfiguration()
    policy.SSLConfiguration.SSLCaCerts = os.environ["OCTAVO_CA"]
    return cosmos_client.CosmosClient(url, {**KEY, **more}, policy)


def run(mode, client, link_of):
    record = Record("azure-cosmos 3", "cosmos", mode, version="3.2.0")
    works = record.works
    name = f"old-{mode}"
    with works("account", "GetDatabaseAccount"):
        assert client.GetDatabaseAccount().ConsistencyPolicy
    with works("databases", "CreateDatabase, ReadDatabase"):
        database = client.CreateDatabase({"id": name})
        link = link_of(database, f"dbs/{name}")
        assert client.ReadDatabase(link)["id"] == name
        with raises(HttpError, status_code=409):
            client.CreateDatabase({"id": name})
    with works("databases", "ReadDatabases, QueryDatabases"):
        assert name in [one["id"] for one in client.ReadDatabases()]
        query = {"query": "SELECT * FROM r WHERE r.id = @id", "parameters": [{"name": "@id", "value": name}]}
        assert [one["id"] for one in client.QueryDatabases(query)] == [name]
    with works("containers", "CreateContainer, ReadContainer"):
        definition = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
        container = client.CreateContainer(link, definition, {"offerThroughput": 1000})
        items = link_of(container, f"dbs/{name}/colls/c")
        assert client.ReadContainer(items)["id"] == "c"
    with works("containers", "CreateContainer without a partition key"):
        fixed = client.CreateContainer(link, {"id": "fixed"})
        fixed_items = link_of(fixed, f"dbs/{name}/colls/fixed")
        made = client.CreateItem(fixed_items, {"id": "1", "n": 1})
        assert client.ReadItem(link_of(made, f"{fixed_items}/docs/1"))["n"] == 1
    with works("containers", "ReadContainers, QueryContainers"):
        assert sorted(one["id"] for one in client.ReadContainers(link)) == ["c", "fixed"]
        assert [one["id"] for one in client.QueryContainers(link, "SELECT * FROM r WHERE r.id = 'c'")] == ["c"]
    with works("containers", "ReplaceContainer"):
        assert client.ReplaceContainer(items, {**container, "defaultTtl": 3600})["defaultTtl"] == 3600
    with works("offers", "QueryOffers, ReplaceOffer"):
        [offer] = client.QueryOffers(f"SELECT * FROM root WHERE root.resource = '{container['_self']}'")
        offer["content"]["offerThroughput"] = 1200
        assert client.ReplaceOffer(offer["_self"], offer)["content"]["offerThroughput"] == 1200
        assert client.ReadOffer(offer["_self"])["content"]["offerThroughput"] == 1200
        assert len(list(client.ReadOffers())) >= 1
    with works("items", "CreateItem, ReadItem"):
        made = [client.CreateItem(items, {"id": f"{n:02} é", "pk": f"k{n % 5}", "n": n}) for n in range(30)]
        one, key = link_of(made[7], f"{items}/docs/07 é"), {"partitionKey": "k2"}
        assert client.ReadItem(one, key)["n"] == 7
        with raises(HttpError, status_code=404):
            client.ReadItem(one, {"partitionKey": "k3"})
    with works("items", "UpsertItem, ReplaceItem"):
        assert client.UpsertItem(items, {**made[7], "n": 107})["n"] == 107
        current = client.ReadItem(one, key)
        condition = {**key, "accessCondition": {"type": "IfMatch", "condition": current["_etag"]}}
        assert client.ReplaceItem(one, {**current, "n": 207}, condition)["n"] == 207
        with raises(HttpError, status_code=412):
            client.ReplaceItem(one, {**current, "n": 307}, condition)
        client.ReplaceItem(one, {**current, "n": 7}, key)
    with works("items", "ReadItems"):
        assert len(list(client.ReadItems(items, {"maxItemCount": 7}))) == 30
    with works("queries", "QueryItems"):
        assert [one["n"] for one in client.QueryItems(items, "SELECT * FROM c WHERE c.n < 3 ORDER BY c.n", ACROSS)] == [0, 1, 2]
        assert len(list(client.QueryItems(items, "SELECT * FROM c", {"partitionKey": "k2"}))) == 6
        assert list(client.QueryItems(items, "SELECT VALUE COUNT(1) FROM c", ACROSS)) == [30]
        found = client.QueryItems(items, "SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n DESC", {**ACROSS, "maxItemCount": 3})
        assert list(found) == [29, 28, 27, 26]
    with works("queries", "QueryItems, in pages"):
        result = client.QueryItems(items, "SELECT * FROM c ORDER BY c.n", {**ACROSS, "maxItemCount": 10})
        pages = [result.fetch_next_block() for _ in range(4)]
        assert [[one["n"] for one in page] for page in pages] == [
            list(range(10)), list(range(10, 20)), list(range(20, 30)), []]
    with works("changes", "QueryItemsChangeFeed"):
        found = client.QueryItemsChangeFeed(items, {"partitionKeyRangeId": "0", "isStartFromBeginning": True})
        assert len(list(found)) == 30
    with works("items", "DeleteItem"):
        client.DeleteItem(one, key)
        with raises(HttpError, status_code=404):
            client.ReadItem(one, key)
    scripts(client, record, items, link_of)
    users(client, record, link, container, items, link_of, mode)
    with works("databases", "DeleteContainer, DeleteDatabase"):
        client.DeleteContainer(items)
        client.DeleteDatabase(link)
        with raises(HttpError, status_code=404):
            client.ReadDatabase(link)
    return record


def scripts(client, record, items, link_of):
    with record.works("scripts", "stored procedures"):
        made = client.CreateStoredProcedure(items, {
            "id": "add", "body": "function (a, b) { getContext().getResponse().setBody(a + b); }"})
        link = link_of(made, f"{items}/sprocs/add")
        assert client.ExecuteStoredProcedure(link, [20, 22], {"partitionKey": "k1"}) == 42
        assert [one["id"] for one in client.ReadStoredProcedures(items)] == ["add"]
        client.DeleteStoredProcedure(link)
    with record.works("scripts", "triggers"):
        client.CreateTrigger(items, {
            "id": "stamp", "triggerType": documents.TriggerType.Pre, "triggerOperation": documents.TriggerOperation.All,
            "serverScript": "function () { var r = getContext().getRequest(), i = r.getBody(); i.s = 1; r.setBody(i); }"})
        assert client.CreateItem(items, {"id": "t", "pk": "t"}, {"preTriggerInclude": "stamp"})["s"] == 1
    with record.works("scripts", "user-defined functions"):
        client.CreateUserDefinedFunction(items, {"id": "twice", "body": "function (n) { return 2 * n; }"})
        assert list(client.QueryItems(items, "SELECT VALUE udf.twice(c.n) FROM c WHERE c.n = 21", ACROSS)) == [42]


def users(client, record, link, container, items, link_of, mode):
    with record.works("users", "users, permissions, resource tokens"):
        user = client.CreateUser(link, {"id": "ann"})
        user_link = link_of(user, f"{link}/users/ann")
        permission = client.CreatePermission(user_link, {
            "id": "read", "permissionMode": documents.PermissionMode.Read, "resource": container["_self"]})
        assert [one["id"] for one in client.ReadPermissions(user_link)] == ["read"]
        tokens = {items: permission["_token"], container["_rid"]: permission["_token"]}
        limited = connect(URLS[mode.split()[0]], masterKey=None, resourceTokens=tokens)
        assert len(list(limited.QueryItems(items, "SELECT * FROM c", {"partitionKey": "k1"}))) == 6
        with raises(HttpError, status_code=403):
            limited.CreateItem(items, {"id": "x", "pk": "k1"})


URLS = {"HTTP": os.environ["OCTAVO_COSMOS_URL"], "HTTPS": os.environ["OCTAVO_COSMOS_HTTPS_URL"]}
LINKS = {"_self": lambda resource, name: resource["_self"], "names": lambda resource, name: name}
finish(*[run(f"{scheme} by {links}", connect(url), link_of)
         for scheme, url in URLS.items() for links, link_of in LINKS.items()])
