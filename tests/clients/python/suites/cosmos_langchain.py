"""langchain-azure-cosmosdb: chat histories, and checkpoints, stores and caches of LangGraph."""
import asyncio
import os
from typing import TypedDict

from azure.core.exceptions import HttpResponseError
from azure.cosmos import CosmosClient, PartitionKey
from langchain_azure_cosmosdb import (AzureCosmosDBNoSqlVectorSearch, AsyncCosmosDBChatMessageHistory, AsyncCosmosDBStore,
                                      CosmosDBCache, CosmosDBCacheSync, CosmosDBChatMessageHistory, CosmosDBSaver,
                                      CosmosDBSaverSync, CosmosDBStore)
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph

from record import Record, finish, raises

URL, KEY = os.environ["OCTAVO_COSMOS_HTTPS_URL"], os.environ["OCTAVO_COSMOS_KEY"]
CONNECTION = f"AccountEndpoint={URL}/;AccountKey={KEY};"


class State(TypedDict):
    """The state of the graph that is checkpointed."""
    count: int


def graph():
    builder = StateGraph(State)
    builder.add_node("up", lambda state: {"count": state["count"] + 1})
    builder.add_edge(START, "up")
    builder.add_edge("up", END)
    return builder


def history_of(kind, session):
    return kind(cosmos_endpoint=URL, cosmos_database="chats", cosmos_container=kind.__name__, session_id=session,
                user_id="ann", credential=KEY, ttl=3600)


def sync(record):
    works = record.works
    with works("chat history", "add_message, messages, clear"):
        history = history_of(CosmosDBChatMessageHistory, "one")
        history.prepare_cosmos()
        history.add_messages([HumanMessage("Größe?"), AIMessage("42")])
        again = history_of(CosmosDBChatMessageHistory, "one")
        again.prepare_cosmos()
        assert [one.content for one in again.messages] == ["Größe?", "42"]
        again.clear()
        empty = history_of(CosmosDBChatMessageHistory, "one")
        empty.prepare_cosmos()
        assert empty.messages == []
    with works("checkpoints", "a graph is resumed; get_state_history"):
        config = {"configurable": {"thread_id": "1"}}
        with CosmosDBSaverSync.from_conn_info(endpoint=URL, key=KEY, database_name="graphs", container_name="sync") as saver:
            app = graph().compile(checkpointer=saver)
            assert app.invoke({"count": 1}, config)["count"] == 2
            app.invoke({"count": 5}, config)
        with CosmosDBSaverSync.from_conn_info(endpoint=URL, key=KEY, database_name="graphs", container_name="sync") as saver:
            app = graph().compile(checkpointer=saver)
            assert app.get_state(config).values["count"] == 6
            counts = [one.values.get("count") for one in app.get_state_history(config)]
            assert counts[0] == 6 and 2 in counts, counts
            assert len(list(saver.list(config, limit=2))) == 2
    with works("store", "put, get, search, list_namespaces, delete"):
        store = CosmosDBStore.from_conn_string(CONNECTION, database_name="stores", container_name="sync")
        store.setup()
        for n in range(5):
            store.put(("users", "ann"), f"k{n}", {"n": n, "kind": "even" if n % 2 == 0 else "odd"})
        assert store.get(("users", "ann"), "k3").value["n"] == 3
        found = store.search(("users",), filter={"kind": "even"})
        assert sorted(one.value["n"] for one in found) == [0, 2, 4]
        assert sorted(one.value["n"] for one in store.search(("users",), filter={"n": {"$gt": 2}})) == [3, 4]
        assert len(store.search(("users",), limit=2, offset=1)) == 2
        assert store.list_namespaces(prefix=("users",)) == [("users", "ann")]
        store.delete(("users", "ann"), "k3")
        assert store.get(("users", "ann"), "k3") is None
    with works("cache", "set, get, clear"):
        with CosmosDBCacheSync.from_conn_info(endpoint=URL, key=KEY, database_name="caches", container_name="sync") as cache:
            key = (("space",), "key")
            cache.set({key: ({"n": 1}, 60)})
            assert cache.get([key, (("space",), "other")]) == {key: {"n": 1}}
            cache.clear([("space",)])
            assert cache.get([key]) == {}
    with record.not_offered("vector store", "AzureCosmosDBNoSqlVectorSearch", "vector search is not offered: 400"):
        policy = {"vectorEmbeddings": [{"path": "/v", "dataType": "float32", "distanceFunction": "cosine", "dimensions": 4}]}
        with raises(HttpResponseError, status_code=400):
            AzureCosmosDBNoSqlVectorSearch(
                cosmos_client=CosmosClient(URL, KEY), embedding=DeterministicFakeEmbedding(size=4),
                vector_embedding_policy=policy, indexing_policy={"vectorIndexes": [{"path": "/v", "type": "flat"}]},
                cosmos_container_properties={"partition_key": PartitionKey("/id")}, cosmos_database_properties={},
                vector_search_fields={"text_field": "text", "embedding_field": "v"})


async def aio(record):
    works = record.works
    with works("chat history", "add_message, messages, clear"):
        async with history_of(AsyncCosmosDBChatMessageHistory, "one") as history:
            await history.aadd_messages([HumanMessage("Größe?"), AIMessage("42")])
        async with history_of(AsyncCosmosDBChatMessageHistory, "one") as history:
            assert [one.content for one in await history.aget_messages()] == ["Größe?", "42"]
            await history.aclear()
        async with history_of(AsyncCosmosDBChatMessageHistory, "one") as history:
            assert await history.aget_messages() == []
    with works("checkpoints", "a graph is resumed; get_state_history"):
        config = {"configurable": {"thread_id": "1"}}
        for count in (1, 5):
            async with CosmosDBSaver.from_conn_info(endpoint=URL, key=KEY, database_name="graphs", container_name="aio") as saver:
                app = graph().compile(checkpointer=saver)
                assert (await app.ainvoke({"count": count}, config))["count"] == count + 1
                counts = [one.values.get("count") async for one in app.aget_state_history(config)]
        assert counts[0] == 6 and 2 in counts, counts
    with works("store", "put, get, search, list_namespaces, delete"):
        async with AsyncCosmosDBStore.from_conn_string(CONNECTION, database_name="stores", container_name="aio") as store:
            await store.setup()
            for n in range(5):
                await store.aput(("users", "ann"), f"k{n}", {"n": n, "kind": "even" if n % 2 == 0 else "odd"})
            assert (await store.aget(("users", "ann"), "k3")).value["n"] == 3
            found = await store.asearch(("users",), filter={"kind": "even"})
            assert sorted(one.value["n"] for one in found) == [0, 2, 4]
            assert await store.alist_namespaces(prefix=("users",)) == [("users", "ann")]
            await store.adelete(("users", "ann"), "k3")
            assert await store.aget(("users", "ann"), "k3") is None
    with works("cache", "set, get, clear"):
        async with CosmosDBCache.from_conn_info(endpoint=URL, key=KEY, database_name="caches", container_name="aio") as cache:
            key = (("space",), "key")
            await cache.aset({key: ({"n": 1}, 60)})
            assert await cache.aget([key, (("space",), "other")]) == {key: {"n": 1}}
            await cache.aclear([("space",)])
            assert await cache.aget([key]) == {}


records = [Record("langchain-azure-cosmosdb", "cosmos", mode) for mode in ("sync", "aio")]
sync(records[0])
asyncio.run(aio(records[1]))
finish(*records)
