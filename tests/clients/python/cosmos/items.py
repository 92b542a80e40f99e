"""Items: keys of all kinds, ETags, patches, batches, reading many, time to live."""
import asyncio

from azure.core import MatchConditions
from azure.cosmos import exceptions
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from cosmos.client import at_once, every, pages, settle
from record import raises

HttpError = exceptions.CosmosHttpResponseError
ODD_IDS = ("é 1+1=2 %20", "ключ", "日本語", "😀", "a b", "a&b=c", "a;b,c", "(a)'s", "a.b..", "%41", "a+b", "~$@!*")


async def run(context):
    await single(context)
    await conditions(context)
    await keys(context)
    await hierarchical(context)
    await patches(context)
    await batches(context)
    await many(context)
    await lifetimes(context)


async def single(context):
    works, container = context.record.works, await context.container()
    with works("items", "create_item"):
        created = await settle(container.create_item({"id": "1", "pk": "a", "n": 1, "text": "é😀\u2028"}))
        assert {"_rid", "_self", "_etag", "_ts"} <= created.keys()
        assert float(created.get_response_headers()["x-ms-request-charge"]) > 0
        with raises(exceptions.CosmosResourceExistsError, status_code=409):
            await settle(container.create_item({"id": "1", "pk": "a"}))
    with works("items", "create_item, enable_automatic_id_generation"):
        made = await settle(container.create_item({"pk": "a"}, enable_automatic_id_generation=True))
        assert made["id"]
    with works("items", "read_item"):
        read = await settle(container.read_item("1", "a"))
        assert dict(read) == dict(created)
        assert dict(await settle(container.read_item(created, "a"))) == dict(created)
        with raises(exceptions.CosmosResourceNotFoundError, status_code=404):
            await settle(container.read_item("2", "a"))
        with raises(exceptions.CosmosResourceNotFoundError, status_code=404):
            await settle(container.read_item("1", "b"))
    with works("items", "upsert_item"):
        assert (await settle(container.upsert_item({"id": "1", "pk": "a", "n": 2})))["n"] == 2
        assert (await settle(container.upsert_item({"id": "2", "pk": "a"})))["id"] == "2"
    with works("items", "replace_item"):
        assert (await settle(container.replace_item("1", {"id": "1", "pk": "a", "n": 3})))["n"] == 3
        read = await settle(container.read_item("1", "a"))
        assert (await settle(container.replace_item(read, {"id": "1", "pk": "a", "n": 4})))["n"] == 4
        with raises(exceptions.CosmosResourceNotFoundError, status_code=404):
            await settle(container.replace_item("none", {"id": "none", "pk": "a"}))
    with works("items", "replace_item with another id in the body"):
        assert (await settle(container.replace_item("1", {"id": "another", "pk": "a"})))["id"] == "another"
        with raises(exceptions.CosmosResourceNotFoundError, status_code=404):
            await settle(container.read_item("1", "a"))
        assert (await settle(container.replace_item("another", {"id": "1", "pk": "a"})))["id"] == "1"
    with works("items", "no_response"):
        assert not await settle(container.upsert_item({"id": "quiet", "pk": "a", "n": 1}, no_response=True))
        assert (await settle(container.read_item("quiet", "a")))["n"] == 1
    with works("items", "delete_item"):
        await settle(container.delete_item("2", "a"))
        with raises(exceptions.CosmosResourceNotFoundError, status_code=404):
            await settle(container.delete_item("2", "a"))
    with works("items", "ids with odd characters"):
        for name in ODD_IDS:
            made = await settle(container.create_item({"id": name, "pk": name}))
            assert (await settle(container.read_item(name, name)))["_etag"] == made["_etag"], name
            assert (await settle(container.replace_item(name, {"id": name, "pk": name, "n": 1})))["n"] == 1, name
            await settle(container.delete_item(name, name))
    with works("items", "large item: 413"):
        await settle(container.create_item({"id": "large", "pk": "a", "text": "x" * 1_900_000}))
        with raises(HttpError, status_code=413):
            await settle(container.create_item({"id": "larger", "pk": "a", "text": "x" * 2_100_000}))
    with works("items", "read_all_items"):
        found = await every(container.read_all_items(max_item_count=2))
        assert {"1", "quiet", "large"} <= {one["id"] for one in found}
    with works("items", "delete_all_items_by_partition_key"):
        await settle(container.upsert_item({"id": "other", "pk": "b"}))
        await settle(container.delete_all_items_by_partition_key("a"))
        assert [one["id"] for one in await every(container.read_all_items())] == ["other"]


async def conditions(context):
    works, container = context.record.works, await context.container()
    first = await settle(container.create_item({"id": "1", "pk": "a"}))
    second = await settle(container.upsert_item({"id": "1", "pk": "a", "n": 2}))
    stale = {"etag": first["_etag"], "match_condition": MatchConditions.IfNotModified}
    fresh = {"etag": second["_etag"], "match_condition": MatchConditions.IfNotModified}
    with works("items", "match_condition: 412"):
        for call in (lambda: container.replace_item("1", {"id": "1", "pk": "a"}, **stale),
                     lambda: container.upsert_item({"id": "1", "pk": "a"}, **stale),
                     lambda: container.patch_item("1", "a", [{"op": "set", "path": "/n", "value": 3}], **stale),
                     lambda: container.delete_item("1", "a", **stale)):
            with raises(exceptions.CosmosAccessConditionFailedError, status_code=412):
                await settle(call())
        assert (await settle(container.replace_item("1", {"id": "1", "pk": "a", "n": 3}, **fresh)))["n"] == 3
    with works("items", "upsert_item of a missing item with an ETag"):
        made = await settle(container.upsert_item({"id": "new", "pk": "a"}, **stale))
        assert made["id"] == "new"
    with works("items", "read_item, not modified: 304"):
        current = await settle(container.read_item("1", "a"))
        unchanged = {"etag": current["_etag"], "match_condition": MatchConditions.IfModified}
        assert not await settle(container.read_item("1", "a", **unchanged))
        await settle(container.upsert_item({"id": "1", "pk": "a", "n": 5}))
        assert (await settle(container.read_item("1", "a", **unchanged)))["n"] == 5


async def keys(context):
    works, container = context.record.works, await context.container(offer_throughput=20_000)
    values = {"text": "Größe", "empty text": "", "number": 42.5, "negative number": -7, "large number": 2**53,
              "true": True, "false": False, "long text": "k" * 1000}
    with works("partition keys", "text, number, bool"):
        for name, value in values.items():
            await settle(container.create_item({"id": name, "pk": value}))
            assert (await settle(container.read_item(name, value)))["pk"] == value, name
            found = await context.query(container, "SELECT VALUE c.id FROM c", partition_key=value)
            assert found == [name], (name, found)
    with works("partition keys", "null"):
        await settle(container.create_item({"id": "null", "pk": None}))
        assert (await settle(container.read_item("null", NullPartitionKeyValue)))["pk"] is None
        assert (await settle(container.read_item("null", None)))["pk"] is None
        assert await context.query(container, "SELECT VALUE c.id FROM c",
                                   partition_key=NullPartitionKeyValue) == ["null"]
    with works("partition keys", "none"):
        await settle(container.create_item({"id": "none"}))
        assert (await settle(container.read_item("none", NonePartitionKeyValue)))["id"] == "none"
        assert await context.query(container, "SELECT VALUE c.id FROM c",
                                   partition_key=NonePartitionKeyValue) == ["none"]
    with works("partition keys", "an object is no key"):
        await settle(container.create_item({"id": "object", "pk": {"a": 1}}))
        assert (await settle(container.read_item("object", NonePartitionKeyValue)))["pk"] == {"a": 1}
    with works("partition keys", "nested path"):
        nested = await context.container("/address/state")
        await settle(nested.create_item({"id": "1", "address": {"state": "WA"}}))
        assert (await settle(nested.read_item("1", "WA")))["id"] == "1"
    with works("partition keys", "quoted path"):
        quoted = await context.container('/"level\' 1*()"/"le/vel2"')
        await settle(quoted.create_item({"id": "1", "level' 1*()": {"le/vel2": "x"}}))
        assert (await settle(quoted.read_item("1", "x")))["id"] == "1"


async def hierarchical(context):
    works = context.record.works
    container = await context.container(["/state", "/city", "/zip"], offer_throughput=20_000)
    places = [("CA", "Oxnard", "1"), ("CA", "Oxnard", "2"), ("CA", "Irvine", "1"), ("WA", "Redmond", "1")]
    with works("partition keys", "hierarchical"):
        for number, (state, city, code) in enumerate(places):
            await settle(container.create_item({"id": str(number), "state": state, "city": city, "zip": code}))
        assert (await settle(container.read_item("1", list(places[1]))))["zip"] == "2"
        assert await context.query(container, "SELECT VALUE c.id FROM c", partition_key=list(places[1])) == ["1"]
    with works("partition keys", "prefix of a hierarchical key"):
        for prefix in (["CA"], ["CA", "Oxnard"], ["CA", "Irvine"], ["WA"], ["NY"], ["CA", "none"]):
            wanted = [str(number) for number, place in enumerate(places) if list(place[:len(prefix)]) == prefix]
            found = await context.query(container, "SELECT VALUE c.id FROM c", partition_key=prefix)
            assert sorted(found) == wanted, (prefix, found)
            count = await context.query(container, "SELECT VALUE COUNT(1) FROM c", partition_key=prefix)
            assert count == [len(wanted)], (prefix, count)
    with works("partition keys", "incomplete key: 400"):
        with raises(HttpError, status_code=400, sub_status=1001):
            await settle(container.read_item("0", ["CA"]))


async def patches(context):
    works, container = context.record.works, await context.container()
    await settle(container.create_item({"id": "1", "pk": "a", "n": 1, "list": [1, 2], "old": "x", "gone": 1}))
    with works("items", "patch_item"):
        patched = await settle(container.patch_item("1", "a", [
            {"op": "add", "path": "/list/-", "value": 3},
            {"op": "set", "path": "/new", "value": {"deep": 1}},
            {"op": "replace", "path": "/old", "value": "y"}, {"op": "remove", "path": "/gone"},
            {"op": "incr", "path": "/n", "value": 2.5}, {"op": "move", "from": "/old", "path": "/moved"}]))
        assert (patched["list"], patched["new"], patched["moved"], patched["n"]) == ([1, 2, 3], {"deep": 1}, "y", 3.5)
        assert "gone" not in patched and "old" not in patched
    with works("items", "patch_item, filter_predicate"):
        change = [{"op": "set", "path": "/n", "value": 10}]
        patched = await settle(container.patch_item("1", "a", change, filter_predicate="FROM c WHERE c.n = 3.5"))
        assert patched["n"] == 10
        with raises(HttpError, status_code=412):
            await settle(container.patch_item("1", "a", change, filter_predicate="FROM c WHERE c.n = 3.5"))


async def batches(context):
    works, container = context.record.works, await context.container()
    await settle(container.create_item({"id": "1", "pk": "a", "n": 1}))
    with works("items", "execute_item_batch"):
        results = await settle(container.execute_item_batch([
            ("create", ({"id": "2", "pk": "a"},)), ("upsert", ({"id": "3", "pk": "a"},)),
            ("replace", ("1", {"id": "1", "pk": "a", "n": 2})), ("read", ("1",)),
            ("patch", ("1", [{"op": "incr", "path": "/n", "value": 1}]), {"filter_predicate": "FROM c WHERE c.n = 2"}),
            ("delete", ("3",))], "a"))
        assert [one["statusCode"] for one in results] == [201, 201, 200, 200, 200, 204], results
        assert results[3]["resourceBody"]["n"] == 2 and results[4]["resourceBody"]["n"] == 3
    with works("items", "execute_item_batch, one operation fails"):
        try:
            await settle(container.execute_item_batch(
                [("create", ({"id": "4", "pk": "a"},)), ("create", ({"id": "1", "pk": "a"},))], "a"))
            raise AssertionError("the batch succeeded")
        except exceptions.CosmosBatchOperationError as error:
            assert error.error_index == 1 and error.status_code == 409
            assert [one["statusCode"] for one in error.operation_responses] == [424, 409]
        with raises(exceptions.CosmosResourceNotFoundError):
            await settle(container.read_item("4", "a"))
    with works("items", "execute_item_batch, if_match_etag"):
        with raises(exceptions.CosmosBatchOperationError, status_code=412):
            await settle(container.execute_item_batch(
                [("replace", ("1", {"id": "1", "pk": "a"}), {"if_match_etag": '"other"'})], "a"))
    with works("items", "execute_item_batch, 100 operations"):
        results = await settle(container.execute_item_batch(
            [("create", ({"id": f"many {n}", "pk": "b"},)) for n in range(100)], "b"))
        assert {one["statusCode"] for one in results} == {201}


async def many(context):
    works, container = context.record.works, await context.container(offer_throughput=30_000)
    wanted = [(f"{n}", f"key {n % 40}") for n in range(300)]
    with works("items", "many writes at once"):
        await at_once(container.create_item, [{"id": name, "pk": key, "n": int(name)} for name, key in wanted])
        assert await context.query(container, "SELECT VALUE COUNT(1) FROM c") == [300]
    with works("items", "read_items"):
        found = await settle(container.read_items([*wanted, ("missing", "key 1"), ("1", "other key")]))
        assert sorted(one["id"] for one in found) == sorted(name for name, _ in wanted)
        one = await settle(container.read_items([wanted[7]]))
        assert [item["id"] for item in one] == ["7"]
    with works("items", "read_all_items in pages, continued"):
        first, continuation = await pages(container.read_all_items(max_item_count=50), count=2)
        rest, _ = await pages(container.read_all_items(max_item_count=50), continuation)
        ids = [item["id"] for page in first + rest for item in page]
        assert sorted(ids) == sorted(name for name, _ in wanted), len(ids)


async def lifetimes(context):
    works, container = context.record.works, await context.container(default_ttl=-1)
    with works("items", "ttl"):
        await settle(container.create_item({"id": "short", "pk": "a", "ttl": 1}))
        await settle(container.create_item({"id": "long", "pk": "a"}))
        await asyncio.sleep(2.2)
        assert await context.query(container, "SELECT VALUE c.id FROM c") == ["long"]
        with raises(exceptions.CosmosResourceNotFoundError, status_code=404):
            await settle(container.read_item("short", "a"))
