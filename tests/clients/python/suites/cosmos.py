"""azure-cosmos: synchronous and asynchronous, over HTTP and HTTPS."""
import asyncio
import logging

from cosmos import changes, items, queries, resources, scripts, throttling, users
from cosmos.client import Context
from record import Record, finish

logging.getLogger("azure").setLevel(logging.ERROR)


async def run(record, kind, scheme):
    async with Context(record, kind, scheme) as context:
        for area in (resources, items, queries, changes, scripts, users):
            await area.run(context)
        if scheme == "HTTP":  # it waits for throughput
            await throttling.run(context)


records = []
for kind in ("sync", "aio"):
    for scheme in ("HTTP", "HTTPS"):
        records.append(Record("azure-cosmos", "cosmos", f"{kind} {scheme}"))
        asyncio.run(run(records[-1], kind, scheme))
finish(*records)
