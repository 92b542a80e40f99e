"""One way to call azure-cosmos, for its synchronous and its asynchronous clients."""
import asyncio
import concurrent.futures
import contextlib
import inspect
import itertools
import os

import azure.cosmos
import azure.cosmos.aio
from azure.cosmos import PartitionKey

KEY = os.environ["OCTAVO_COSMOS_KEY"]
URLS = {"HTTP": os.environ["OCTAVO_COSMOS_URL"], "HTTPS": os.environ["OCTAVO_COSMOS_HTTPS_URL"]}
numbers = itertools.count()


async def settle(value):
    """The result of a call, whether the client is asynchronous or not."""
    return await value if inspect.isawaitable(value) else value


async def at_once(call, values):
    """Calls `call` with each value; the requests are under way together, whether the client is asynchronous or not."""
    if inspect.iscoroutinefunction(call):
        return await asyncio.gather(*[call(value) for value in values])
    with concurrent.futures.ThreadPoolExecutor(max_workers=16) as workers:
        return list(workers.map(call, values))


async def every(items):
    """All items of an iterator of either client."""
    if hasattr(items, "__aiter__"):
        return [item async for item in items]
    return list(items)


async def pages(items, continuation=None, count=None):
    """Pages as lists, and the continuation after the last one; `count`: how many pages at most."""
    pager, found = items.by_page(continuation), []
    if hasattr(pager, "__aiter__"):
        async for page in pager:
            found.append([item async for item in page])
            if len(found) == count:
                break
    else:
        for page in pager:
            found.append(list(page))
            if len(found) == count:
                break
    return found, pager.continuation_token


class Context:
    """A client in one mode, with what the areas of the suite share."""

    def __init__(self, record, kind, scheme):
        self.record, self.kind, self.scheme = record, kind, scheme

    @property
    def is_async(self):
        return self.kind == "aio"

    def new_client(self, credential=KEY, **options):
        if self.scheme == "HTTPS":
            options.setdefault("connection_verify", os.environ["OCTAVO_CA"])
        module = azure.cosmos.aio if self.is_async else azure.cosmos
        return module.CosmosClient(URLS[self.scheme], credential, **options)

    @contextlib.asynccontextmanager
    async def client_of(self, credential=KEY, **options):
        client = self.new_client(credential, **options)
        if self.is_async:
            async with client:
                yield client
        else:
            with client:
                yield client

    async def __aenter__(self):
        self.stack = contextlib.AsyncExitStack()
        self.client = await self.stack.enter_async_context(self.client_of())
        self.database = await settle(self.client.create_database(f"db-{self.kind}-{self.scheme}"))
        return self

    async def __aexit__(self, *error):
        await settle(self.client.delete_database(self.database.id))
        await self.stack.aclose()

    async def container(self, path="/pk", **options):
        """A new container. `path`: one, or a list for a hierarchical key."""
        kind = "MultiHash" if isinstance(path, list) else "Hash"
        return await settle(self.database.create_container(
            f"container-{next(numbers)}", PartitionKey(path=path, kind=kind), **options))

    async def query(self, container, query, **options):
        """All results of a query. Without a scope, over all partitions."""
        scoped = {"partition_key", "feed_range"} & options.keys()
        if not scoped and not self.is_async:
            options["enable_cross_partition_query"] = True
        return await every(container.query_items(query, **options))
