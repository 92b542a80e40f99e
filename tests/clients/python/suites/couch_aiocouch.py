"""aiocouch."""
import asyncio
import os

import aiocouch
import aiohttp

from record import Record, finish, raises

URL, USER, PASSWORD = (os.environ[f"OCTAVO_{name}"] for name in ("COUCH_URL", "USER", "PASSWORD"))
MAP = "function (doc) { if (doc.n !== undefined) emit(doc.n, doc._id); }"


async def run(record, couch):
    works = record.works
    with works("server", "check_credentials, info"):
        await couch.check_credentials()
        assert (await couch.info())["couchdb"] == "Welcome"
        with raises(aiocouch.UnauthorizedError):
            async with aiocouch.CouchDB(URL, user=USER, password="wrong") as wrong:
                await wrong.check_credentials()
    with works("databases", "create, keys, []"):
        database = await couch.create("aiocouch")
        assert "aiocouch" in await couch.keys()
        assert (await (await couch["aiocouch"]).info())["db_name"] == "aiocouch"
        await couch.create("aiocouch", exists_ok=True)
        with raises(aiocouch.PreconditionFailedError):
            await couch.create("aiocouch")
        with raises(aiocouch.NotFoundError):
            await couch["missing"]
    with works("documents", "create, save, [], get"):
        document = await database.create("Größe / 1", data={"n": 1})
        await document.save()
        assert (await database["Größe / 1"])["n"] == 1
        assert not (await database.create("missing")).exists
        with raises(aiocouch.NotFoundError):
            await database["missing"]
    with works("documents", "save again, revs, conflicts, info"):
        document["n"] = 2
        await document.save()
        assert document.rev.startswith("2-") and (await document.info())["rev"] == document.rev
    with works("documents", "conflict"):
        other = await database["Größe / 1"]
        other["n"] = 3
        await other.save()
        document["n"] = 4
        with raises(aiocouch.ConflictError):
            await document.save()
    with works("documents", "fetch, copy, delete"):
        await document.fetch(discard_changes=True)
        await document.copy("copied")
        copied = await database["copied"]
        assert copied["n"] == 3
        await copied.delete()
        with raises(aiocouch.NotFoundError):
            await database["copied"]
    with works("documents", "create_docs, update_docs"):
        async with database.create_docs([f"{n:02}" for n in range(30)]) as bulk:
            async for one in bulk:
                one["n"] = int(one.id)
        assert not bulk.error and len(bulk.ok) == 30
        async with database.update_docs(["03", "new"], create=True) as bulk:
            async for one in bulk:
                one["n"] = 103
        assert (await database["03"])["n"] == 103 and (await database["new"])["n"] == 103
    with works("documents", "docs, akeys, values"):
        assert [one["n"] async for one in database.docs(["04", "05"])] == [4, 5]
        assert [one["n"] async for one in database.docs(prefix="0")][:2] == [0, 1]
        assert "05" in [key async for key in database.akeys()]
        assert 5 in [one["n"] async for one in database.values()]
    with works("views", "design_doc, view"):
        design = await database.design_doc("by")
        await design.create_view(view="n", map_function=MAP, exists_ok=True)
        view = database.view("by", "n")
        assert [one async for one in view.ids(startkey=4, limit=2)] == ["04", "05"]
        assert [key async for key, _ in view.aitems(startkey=4, limit=2)]
    with works("queries", "index, find"):
        await database.index({"fields": ["n"]}, name="n")
        assert sorted([one["n"] async for one in database.find({"n": {"$gt": 27}})]) == [28, 29, 103, 103]
    with works("changes", "changes"):
        seen = []
        async for event in database.changes(include_docs=True):
            seen.append(event.id)
        assert "05" in seen
    with works("changes", "changes, continuous"):
        async for event in database.changes(feed="continuous", heartbeat=1000):
            if event.id == "05":
                break
    with works("security", "security"):
        async with await database.security() as security:
            security.add_member("ann")
            security.add_admin_role("boss")
        security = await database.security()
        assert security.members == ["ann"] and "boss" in security.admin_roles
    with record.not_offered("documents", "attachment", "attachments are not offered: 501"):
        with raises(Exception):
            await (await database["04"]).attachment("a.txt").save(b"text", "text/plain")
    with works("databases", "delete"):
        await database.delete()
        assert "aiocouch" not in await couch.keys()


async def main():
    basic, cookie = Record("aiocouch", "couch", "password"), Record("aiocouch", "couch", "session cookie")
    async with aiocouch.CouchDB(URL, user=USER, password=PASSWORD) as couch:
        await run(basic, couch)
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{URL}/_session", json={"name": USER, "password": PASSWORD}) as reply:
            token = reply.cookies["AuthSession"].value
    async with aiocouch.CouchDB(URL, cookie=token) as couch:
        await run(cookie, couch)
    finish(basic, cookie)


asyncio.run(main())
