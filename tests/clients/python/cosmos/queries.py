"""Queries: scopes, merging, pages and their continuations, also across a split and in another process."""
import subprocess
import sys

from azure.cosmos import exceptions

from cosmos.client import KEY, URLS, at_once, every, pages, settle
from record import raises

HttpError = exceptions.CosmosHttpResponseError
ITEMS = [{"id": f"{n:03}", "pk": f"key {n % 25}", "n": n, "group": n % 5, "name": f"Größe {n % 7}",
          "tags": [{"t": n % 3}, {"t": n % 4}]} for n in range(200)]

RESUME = """
import sys
from azure.cosmos import CosmosClient
url, key, database, container, query, continuation = sys.argv[1:]
client = CosmosClient(url, key)
items = client.get_database_client(database).get_container_client(container).query_items(
    query, enable_cross_partition_query=True, max_item_count=30)
print(" ".join(item["id"] for page in items.by_page(continuation) for item in page))
"""


async def run(context):
    container = await context.container(offer_throughput=30_000)
    await at_once(container.upsert_item, ITEMS)
    await merged(context, container)
    await scopes(context, container)
    await paged(context, container)
    await options(context, container)
    await split(context)


async def merged(context, container):
    works = context.record.works

    async def results(query, *values):
        parameters = [{"name": f"@p{i}", "value": value} for i, value in enumerate(values)]
        return await context.query(container, query, parameters=parameters, max_item_count=40)
    for name, query, wanted in (
            ("WHERE", "SELECT VALUE c.n FROM c WHERE c.n < 3", {0, 1, 2}),
            ("DISTINCT", "SELECT DISTINCT VALUE c.name FROM c", {f"Größe {n}" for n in range(7)}),
            ("JOIN", "SELECT VALUE c.n FROM c JOIN t IN c.tags WHERE t.t = 3 AND c.n < 12", {3, 7, 11}),
            ("IN, parameters", "SELECT VALUE c.n FROM c WHERE c.n IN (@p0, @p1)", {3, 9})):
        with works("queries", name):
            found = await results(query, *((3, 9) if "@p0" in query else ()))
            assert len(found) == len(wanted) and set(found) == wanted, found
    with works("queries", "array parameter"):
        assert sorted(await results("SELECT VALUE c.n FROM c WHERE ARRAY_CONTAINS(@p0, c.n)", [4, 5])) == [4, 5]
    with works("queries", "ORDER BY"):
        assert await results("SELECT VALUE c.n FROM c ORDER BY c.n DESC") == list(range(199, -1, -1))
        assert [one["id"] for one in await results("SELECT * FROM c ORDER BY c.id")] == [one["id"] for one in ITEMS]
    with works("queries", "ORDER BY several"):
        found = await results("SELECT VALUE c.n FROM c ORDER BY c['group'] ASC, c.n DESC")
        assert found == [one["n"] for one in sorted(ITEMS, key=lambda one: (one["group"], -one["n"]))]
    with works("queries", "TOP, OFFSET LIMIT"):
        assert await results("SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n") == [0, 1, 2, 3, 4]
        assert await results("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 100 LIMIT 3") == [100, 101, 102]
    with works("queries", "COUNT, SUM, MIN, MAX, AVG"):
        for function, wanted in (("COUNT", 200), ("SUM", 19900), ("MIN", 0), ("MAX", 199), ("AVG", 99.5)):
            assert await results(f"SELECT VALUE {function}(c.n) FROM c") == [wanted], function
    with works("queries", "several aggregates"):
        found = await results("SELECT COUNT(1) AS count, MAX(c.n) AS highest FROM c")
        assert found == [{"count": 200, "highest": 199}], found
    with works("queries", "GROUP BY"):
        found = await results("SELECT c.name, COUNT(1) AS count FROM c GROUP BY c.name")
        wanted = {f"Größe {n}": len([one for one in ITEMS if one["n"] % 7 == n]) for n in range(7)}
        assert len(found) == 7 and {one["name"]: one["count"] for one in found} == wanted
    with works("queries", "user-defined function"):
        await settle(container.scripts.create_user_defined_function(
            {"id": "twice", "body": "function (n) { return 2 * n; }"}))
        assert await results("SELECT VALUE udf.twice(c.n) FROM c WHERE c.n = 21") == [42]
    with works("queries", "syntax error: 400"):
        with raises(HttpError, status_code=400):
            await results("SELECT FROM WHERE")
    with works("queries", "aggregates of no value, and AVG and SUM of values that are no numbers"):
        for aggregate in ("AVG(c.name)", "SUM(c.name)", "MAX(c.none)", "MIN(c.none)"):
            assert await results(f"SELECT VALUE {aggregate} FROM c") == [None], aggregate


async def scopes(context, container):
    works = context.record.works
    with works("queries", "partition_key"):
        found = await context.query(container, "SELECT VALUE c.n FROM c ORDER BY c.n", partition_key="key 3")
        assert found == list(range(3, 200, 25))
        count = await context.query(container, "SELECT VALUE COUNT(1) FROM c", partition_key="key 3")
        assert count == [8]
    with works("queries", "feed_range"):
        ranges = await every(container.read_feed_ranges())
        assert len(ranges) == 3
        found = [await context.query(container, "SELECT VALUE c.n FROM c", feed_range=one) for one in ranges]
        assert sorted(n for part in found for n in part) == list(range(200))
        assert all(found)
        counts = [await context.query(container, "SELECT VALUE COUNT(1) FROM c", feed_range=one) for one in ranges]
        assert [count[0] for count in counts] == [len(part) for part in found]
    with works("queries", "feed_range of a partition key"):
        one = await settle(container.feed_range_from_partition_key("key 3"))
        found = await context.query(container, "SELECT VALUE c.n FROM c", feed_range=one)
        assert sorted(found) == list(range(3, 200, 25))


async def paged(context, container):
    works = context.record.works
    options = {} if context.is_async else {"enable_cross_partition_query": True}
    for name, query in (("in pages, continued", "SELECT * FROM c"),
                        ("in pages, continued, ORDER BY", "SELECT * FROM c ORDER BY c.n")):
        with works("queries", name):
            first, continuation = await pages(container.query_items(query, max_item_count=30, **options), count=2)
            assert [len(page) for page in first] == [30, 30] and continuation
            rest, _ = await pages(container.query_items(query, max_item_count=30, **options), continuation)
            ids = [item["id"] for page in first + rest for item in page]
            assert sorted(ids) == [one["id"] for one in ITEMS], len(ids)
            if "ORDER" in query:
                assert ids == [one["id"] for one in ITEMS]
    with works("queries", "continued in another process"):
        query = "SELECT * FROM c ORDER BY c.n"
        first, continuation = await pages(container.query_items(query, max_item_count=30, **options), count=2)
        rest = subprocess.run([sys.executable, "-c", RESUME, URLS["HTTP"], KEY, context.database.id, container.id, query,
                               continuation], check=True, capture_output=True, text=True).stdout.split()
        assert [item["id"] for page in first for item in page] + rest == [one["id"] for one in ITEMS]
    with works("queries", "continuation_token_limit"):
        small = container.query_items("SELECT * FROM c", max_item_count=30, continuation_token_limit=1, **options)
        _, continuation = await pages(small, count=1)
        assert len(continuation) <= 1024
    with works("queries", "of a partition key, in pages, continued"):
        query = "SELECT VALUE c.n FROM c ORDER BY c.n"
        first, continuation = await pages(container.query_items(query, partition_key="key 3", max_item_count=3), count=1)
        rest, _ = await pages(container.query_items(query, partition_key="key 3", max_item_count=3), continuation)
        assert [n for page in first + rest for n in page] == list(range(3, 200, 25))


async def options(context, container):
    works = context.record.works
    headers = {}

    def note(given, *_):
        headers.update(given)
    with works("queries", "populate_query_metrics"):
        await context.query(container, "SELECT * FROM c", partition_key="key 3", populate_query_metrics=True,
                            response_hook=note)
        assert "totalExecutionTimeInMs" in headers["x-ms-documentdb-query-metrics"]
    with works("queries", "populate_index_metrics"):
        await context.query(container, "SELECT * FROM c WHERE c.n = 1", partition_key="key 3",
                            populate_index_metrics=True, response_hook=note)
        assert headers["x-ms-cosmos-index-utilization"]
    with works("queries", "session_token, priority, throughput_bucket, initial_headers"):
        token = (await settle(container.read_item("000", "key 0"))).get_response_headers()["x-ms-session-token"]
        found = await context.query(container, "SELECT * FROM c", partition_key="key 0", session_token=token,
                                    priority="Low", throughput_bucket=1, initial_headers={"x-other": "1"})
        assert len(found) == 8


async def split(context):
    container = await context.container(offer_throughput=10_000)
    await at_once(container.upsert_item, ITEMS)
    options = {} if context.is_async else {"enable_cross_partition_query": True}
    with context.record.works("queries", "in pages, while the container is split"):
        for query in ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n"):
            before = len(await every(container.read_feed_ranges(force_refresh=True)))
            first, continuation = await pages(container.query_items(query, max_item_count=20, **options), count=3)
            higher = 25_000 if before == 1 else 45_000
            await settle(container.replace_throughput(higher))
            for _ in range(200):
                if len(await every(container.read_feed_ranges(force_refresh=True))) > before:
                    break
            rest, _ = await pages(container.query_items(query, max_item_count=20, **options), continuation)
            ids = [item["id"] for page in first + rest for item in page]
            assert sorted(ids) == [one["id"] for one in ITEMS], len(ids)
            assert len(await every(container.read_feed_ranges(force_refresh=True))) > before
