"""429: a container with little throughput, and clients that wait, give up early, or never retry."""
import base64
import os
import re
import time
import urllib.request

from azure.cosmos import exceptions

from cosmos.client import settle

HttpError = exceptions.CosmosHttpResponseError
LARGE = "x" * 1_300_000  # a write costs more than a second's throughput, so that the next request is refused


def refused():
    """How many requests to open databases the server has refused for want of throughput, as its metrics say."""
    name, password = os.environ["OCTAVO_USER"], os.environ["OCTAVO_PASSWORD"]
    request = urllib.request.Request(os.environ["OCTAVO_COUCH_URL"] + "/_node/_local/_prometheus", headers={
        "Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()})
    with urllib.request.urlopen(request) as reply:
        text = reply.read().decode()
    found = re.findall(r"^octavo_database_requests_refused_total\{.*\} (\d+)", text, re.MULTILINE)
    return sum(int(count) for count in found)


async def run(context):
    works = context.record.works
    container = await context.container(offer_throughput=400)

    def same(client):
        return client.get_database_client(context.database.id).get_container_client(container.id)

    async def use_up(call, was_refused):
        """Calls `call` after a write that has spent more than the throughput. Again if a busy machine has earned it
        before."""
        for _ in range(10):
            await settle(container.upsert_item({"id": "large", "pk": "a", "text": LARGE}))
            before = refused()
            result = await call()
            if was_refused(result):
                return result, refused() - before
        raise AssertionError("no request was refused")

    async def error_of(client):
        """The error of a write with the client, if it is refused."""
        try:
            await settle(same(client).upsert_item({"id": "1", "pk": "a"}))
        except HttpError as error:
            return error

    # The client takes 0 as its default of 9 retries.
    async with context.client_of(retry_throttle_total=-1) as impatient:
        with works("throttling", "retry_throttle_total: 429 is raised"):
            await settle(same(impatient).read())
            error, count = await use_up(lambda: error_of(impatient), lambda error: error)
            assert (error.status_code, error.sub_status) == (429, 3200), error
            assert 0 < int(error.headers["x-ms-retry-after-ms"]) <= 10_000, error.headers
            assert float(error.headers["x-ms-request-charge"]) == 0, error.headers
            assert count == 1
    async with context.client_of(retry_fixed_interval=1, retry_throttle_total=3) as hasty:
        with works("throttling", "retry_fixed_interval, retry_throttle_total: the client gives up"):
            await settle(same(hasty).read())
            error, count = await use_up(lambda: error_of(hasty), lambda error: error)
            assert (error.status_code, error.sub_status, count) == (429, 3200, 4), (error, count)
    replies = []
    async with context.client_of(raw_response_hook=lambda reply: replies.append(reply.http_response)) as patient:
        async def waits(call):
            """Checks that a call which is refused succeeds after the time that the replies name."""
            async def timed():
                replies.clear()
                begin = time.monotonic()
                return await call(), 1000 * (time.monotonic() - begin)
            (result, waited_ms), count = await use_up(timed, lambda _: 429 in [one.status_code for one in replies])
            assert replies[-1].status_code < 300, replies
            throttled = [one for one in replies if one.status_code == 429]
            asked_ms = sum(int(one.headers["x-ms-retry-after-ms"]) for one in throttled)
            assert 0 < asked_ms <= waited_ms and count == len(throttled), (asked_ms, waited_ms, count)
            return result
        await settle(same(patient).read())
        with works("throttling", "429 is retried after x-ms-retry-after-ms"):
            made = await waits(lambda: settle(same(patient).upsert_item({"id": "patient", "pk": "a"})))
            assert made["id"] == "patient"
        with works("throttling", "queries are retried"):
            query = "SELECT VALUE c.id FROM c WHERE c.id = 'patient'"
            assert await waits(lambda: context.query(same(patient), query, partition_key="a")) == ["patient"]
        with works("throttling", "batches are retried"):
            batch = [("upsert", ({"id": "batch", "pk": "a"},))]
            made = await waits(lambda: settle(same(patient).execute_item_batch(batch, "a")))
            assert [one["statusCode"] for one in made][0] in (200, 201)
