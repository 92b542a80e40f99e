"""The change feed: from the beginning, from now, from a time; latest version and all versions; per range and per key."""
import asyncio
from datetime import datetime, timedelta, timezone

from cosmos.client import at_once, every, pages, settle


def position(container):
    """The continuation of the last change feed that was read: the documented way to get it, also if it was empty."""
    return container.client_connection.last_response_headers["etag"]


def ids(items):
    return [item["id"] for item in items]


async def run(context):
    works = context.record.works
    container = await context.container(offer_throughput=20_000)
    now = await every(container.query_items_change_feed(start_time="Now"))
    from_now = position(container)
    await at_once(container.create_item, [{"id": f"{n:02}", "pk": f"key {n % 10}", "n": n} for n in range(40)])
    everything = [f"{n:02}" for n in range(40)]
    with works("change feed", "from the beginning"):
        assert sorted(ids(await every(container.query_items_change_feed(start_time="Beginning")))) == everything
        assert sorted(ids(await every(container.query_items_change_feed(is_start_from_beginning=True)))) == everything
    with works("change feed", "from now, continued"):
        assert now == []
        assert sorted(ids(await every(container.query_items_change_feed(continuation=from_now)))) == everything
        continuation = position(container)
        await settle(container.upsert_item({"id": "03", "pk": "key 3", "n": 103}))
        found = await every(container.query_items_change_feed(continuation=continuation))
        assert [(item["id"], item["n"]) for item in found] == [("03", 103)]
    with works("change feed", "in pages"):
        found, _ = await pages(container.query_items_change_feed(start_time="Beginning", max_item_count=7))
        assert max(len(page) for page in found) <= 7
        assert sorted(ids(item for page in found for item in page)) == everything
    with works("change feed", "from a time"):
        await asyncio.sleep(1.1)
        begin = datetime.now(timezone.utc)
        await asyncio.sleep(1.1)
        await settle(container.create_item({"id": "40", "pk": "key 0", "n": 40}))
        assert ids(await every(container.query_items_change_feed(start_time=begin))) == ["40"]
        later = begin + timedelta(hours=1)
        assert await every(container.query_items_change_feed(start_time=later)) == []
    with works("change feed", "partition_key"):
        found = await every(container.query_items_change_feed(partition_key="key 3", start_time="Beginning"))
        assert sorted(ids(found)) == ["03", "13", "23", "33"]
    with works("change feed", "feed_range"):
        ranges = await every(container.read_feed_ranges())
        assert len(ranges) == 2
        parts = [ids(await every(container.query_items_change_feed(feed_range=one, start_time="Beginning")))
                 for one in ranges]
        assert all(parts) and sorted(parts[0] + parts[1]) == everything + ["40"]
    with works("change feed", "while the container is split"):
        found, continuation = await pages(container.query_items_change_feed(start_time="Beginning", max_item_count=5),
                                          count=2)
        await settle(container.replace_throughput(40_000))
        for _ in range(200):
            if len(await every(container.read_feed_ranges(force_refresh=True))) > 2:
                break
        rest, _ = await pages(container.query_items_change_feed(continuation=continuation))
        names = ids(item for page in found + rest for item in page)
        assert sorted(set(names)) == everything + ["40"], names
    with works("change feed", "all versions and deletes"):
        full = await context.container(change_feed_policy={"retentionDuration": 10})
        await every(full.query_items_change_feed(mode="AllVersionsAndDeletes", start_time="Now"))
        begin = position(full)
        await settle(full.create_item({"id": "1", "pk": "a", "n": 1}))
        await settle(full.replace_item("1", {"id": "1", "pk": "a", "n": 2}))
        await settle(full.delete_item("1", "a"))
        found = await every(full.query_items_change_feed(mode="AllVersionsAndDeletes", continuation=begin))
        assert [one["metadata"]["operationType"] for one in found] == ["create", "replace", "delete"], found
        assert [one["current"].get("n") for one in found[:2]] == [1, 2]
