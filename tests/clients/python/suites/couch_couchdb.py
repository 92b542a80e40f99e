"""couchdb (CouchDB-Python)."""
import os
import time
from urllib.parse import quote

import couchdb
from couchdb.design import ViewDefinition

from record import Record, finish, raises

record = Record("couchdb", "couch", "sync")
works = record.works
name, password = quote(os.environ["OCTAVO_USER"]), quote(os.environ["OCTAVO_PASSWORD"])
url = os.environ["OCTAVO_COUCH_URL"] + "/"
server = couchdb.Server(url.replace("//", f"//{name}:{password}@", 1))
MAP = "function (doc) { emit(doc.n, doc._id); }"

with works("server", "version, version_info, uuids, tasks, config, stats"):
    assert server.version() and server.version_info() and len(server.uuids(3)) == 3
    assert server.tasks() == [] and bool(server)
with record.differs("server", "login, verify_token, logout",
                    "the client takes the first header of the reply for the cookie, as it does with CouchDB 3"):
    token = couchdb.Server(url).login(os.environ["OCTAVO_USER"], os.environ["OCTAVO_PASSWORD"])
    with raises(couchdb.http.ServerError):
        server.verify_token(token)
with works("server", "add_user, remove_user"):
    server.add_user("ann", "secret", roles=["reader"])
    assert couchdb.Server(url).login("ann", "secret")
    server.remove_user("ann")
with works("databases", "create, in, iteration"):
    database = server.create("pycouchdb")
    assert "pycouchdb" in server and "pycouchdb" in list(server)
    with raises(couchdb.http.PreconditionFailed):
        server.create("pycouchdb")
    with raises(couchdb.http.ResourceNotFound):
        server["missing"]
with works("databases", "info, len, security"):
    assert database.info()["db_name"] == "pycouchdb" and len(database) == 0
    database.security = {"members": {"names": ["ann"], "roles": []}, "admins": {"names": [], "roles": []}}
    assert database.security["members"]["names"] == ["ann"]
with works("documents", "save, [], []=, get, in"):
    saved_id, saved_rev = database.save({"n": 1})
    assert database[saved_id].rev == saved_rev and saved_id in database
    database["Größe / 1"] = {"n": 2}
    assert database["Größe / 1"]["n"] == 2 and database.get("missing", "no") == "no"
    with raises(couchdb.http.ResourceConflict):
        database["Größe / 1"] = {"n": 3}
with works("documents", "save(batch='ok')"):
    database.save({"_id": "batched"}, batch="ok")
    wait_for = time.monotonic() + 10
    while "batched" not in database and time.monotonic() < wait_for:
        time.sleep(0.02)
    assert "batched" in database
with works("documents", "update"):
    results = database.update([{"_id": f"{n:02}", "n": n} for n in range(30)] + [{"_id": "Größe / 1"}])
    assert all(one[0] for one in results[:30]) and not results[30][0]
with works("documents", "copy"):
    database.copy("01", "copied")
    assert database["copied"]["n"] == 1
with works("documents", "revisions"):
    document = database["Größe / 1"]
    database.save({**document, "n": 3})
    assert [one["n"] for one in database.revisions("Größe / 1")] == [3, 2]
with works("documents", "delete, del"):
    database.delete(database["copied"])
    del database["batched"]
    assert "copied" not in database and "batched" not in database
with works("documents", "purge"):
    assert database.purge([database["29"]])["purged"]
with works("views", "view"):
    ViewDefinition("by", "n", MAP, reduce_fun="_sum").sync(database)
    rows = database.view("_design/by/_view/n", reduce=False, startkey=3, limit=2, include_docs=True).rows
    assert [(row.key, row.doc["n"]) for row in rows] == [(3, 3), (3, 3)]
    assert [row.key for row in database.view("by/n", reduce=False)[5:6]] == [5, 6]
    assert database.view("_all_docs", keys=["01"]).rows[0].id == "01"
with works("views", "iterview"):
    assert len(list(database.iterview("by/n", 7, reduce=False))) == 31
with works("views", "info, cleanup, compact, commit"):
    assert database.info("by")["name"] == "by"
    assert database.cleanup() and database.compact() and database.compact("by") and database.commit()
with works("queries", "find, explain"):
    assert sorted(one["n"] for one in database.find({"selector": {"n": {"$gt": 26}}})) == [27, 28]
    assert database.explain({"selector": {"n": 1}})["dbname"] == "pycouchdb"
with works("queries", "index"):
    indexes = database.index()
    indexes["ddoc", "by_n"] = [{"n": "asc"}]
    assert len(list(indexes)) == 2
    del indexes["ddoc", "by_n"]
    assert len(list(indexes)) == 1
with works("changes", "changes"):
    assert "01" in [one["id"] for one in database.changes()["results"]]
    for row in database.changes(feed="continuous", timeout=1000):
        if row.get("id") == "05":
            break
with works("documents", "update_doc"):
    database["_design/change"] = {"updates": {"up": "function (doc, req) { doc.n += 1; return [doc, 'done']; }"}}
    _, body = database.update_doc("change/up", "05")
    assert body.read() == b"done" and database["05"]["n"] == 6
with record.not_offered("views", "show, list", "removed from CouchDB 4: 410"):
    with raises(couchdb.http.ServerError):
        database.show("change/none", "05")
with record.not_offered("views", "query", "temporary views are removed from CouchDB 2: 410"):
    with raises(couchdb.http.ServerError):
        database.query(MAP).rows
with record.not_offered("documents", "put_attachment", "attachments are not offered: 501"):
    with raises(couchdb.http.ServerError):
        database.put_attachment(database["01"], "text", filename="a.txt", content_type="text/plain")
with record.not_offered("server", "replicate", "the server does not replicate: 501"):
    with raises(couchdb.http.ServerError):
        server.replicate("pycouchdb", "other")
with works("databases", "del"):
    del server["pycouchdb"]
    assert "pycouchdb" not in server
finish(record)
