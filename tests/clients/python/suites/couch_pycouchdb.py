"""pycouchdb."""
import os
from urllib.parse import quote

import pycouchdb
from pycouchdb.exceptions import Conflict, GenericError, NotFound

from record import Record, finish, raises

record = Record("pycouchdb", "couch", "sync")
works = record.works
name, password = quote(os.environ["OCTAVO_USER"]), quote(os.environ["OCTAVO_PASSWORD"])
url = os.environ["OCTAVO_COUCH_URL"] + "/"
server = pycouchdb.Server(url.replace("//", f"//{name}:{password}@", 1))
VIEWS = {"_id": "_design/by", "views": {"n": {"map": "function (doc) { emit(doc.n, doc._id); }", "reduce": "_count"}}}


class Reader(pycouchdb.feedreader.BaseFeedReader):
    """Reads changes until it has seen a document."""

    def __init__(self, last):
        super().__init__()
        self.last, self.seen = last, []

    def on_message(self, message):
        self.seen.append(message["id"])
        if message["id"] == self.last:
            raise pycouchdb.exceptions.FeedReaderExited()


with works("server", "info, version"):
    assert server.info()["couchdb"] == "Welcome"
    assert server.version()
with works("server", "wrong password"):
    with raises(GenericError):
        pycouchdb.Server(url.replace("//", f"//{name}:wrong@", 1)).create("never")
with works("databases", "create, in, iteration"):
    server.create("pycouch")
    assert "pycouch" in server and "pycouch" in list(server) and len(server) >= 1
    with raises(Conflict):
        server.create("pycouch")
database = server.database("pycouch")
with works("databases", "database, config, len"):
    assert database.config()["db_name"] == "pycouch" and len(database) == 0
    with raises(NotFound):
        server.database("missing")
with works("documents", "save"):
    saved = database.save({"_id": "Größe 1", "n": 1})
    assert saved["_rev"].startswith("1-")
    assert database.save({"n": 0})["_id"]
    with raises(Conflict):
        database.save({"_id": "Größe 1", "_rev": "1-" + "0" * 32})
with works("documents", "get, in"):
    assert database.get("Größe 1")["n"] == 1 and "Größe 1" in database
    with raises(NotFound):
        database.get("missing")
with works("documents", "revisions"):
    database.save({**saved, "n": 2})
    assert [one["n"] for one in database.revisions("Größe 1")] == [2, 1]
with works("documents", "save_bulk"):
    docs = database.save_bulk([{"_id": f"{n:02}", "n": n} for n in range(30)])
    assert all(one["_rev"] for one in docs)
with works("documents", "all"):
    assert [one["id"] for one in database.all(startkey="05", endkey="07")] == ["05", "06", "07"]
    assert sorted(one["key"] for one in database.all(keys=["01", "02"])) == ["01", "02"]
with works("documents", "delete, delete_bulk"):
    database.delete("29")
    assert "29" not in database
    database.delete_bulk([database.get("28"), database.get("27")])
    assert "27" not in database
with works("views", "query"):
    database.save(VIEWS)
    assert [one["key"] for one in database.query("by/n", reduce=False, startkey=3, limit=2)] == [3, 4]
    assert [one["value"] for one in database.query("by/n", group=True, keys=[5])] == [1]
with works("views", "query, pagesize"):
    assert len(list(database.query("by/n", reduce=False, pagesize=7))) == 29
with works("views", "one"):
    assert database.one("by/n", flat="value") == 29
with works("views", "view_pages"):
    found = [row for page in database.view_pages("by/n", 7, params={"reduce": False}) for row in page]
    assert len(found) == 29
with works("queries", "find"):
    assert sorted(one["n"] for one in database.find({"n": {"$gt": 24}})) == [25, 26]
with works("queries", "mango_pages"):
    found = [one for page in database.mango_pages({"n": {"$gte": 0}}, 10) for one in page]
    assert len(found) == 29, len(found)
with works("changes", "changes_list"):
    last, changes = database.changes_list()
    assert last and "05" in [one["id"] for one in changes]
with works("changes", "changes_feed"):
    reader = Reader("26")
    database.changes_feed(reader, feed="continuous", include_docs=True)
    assert "05" in reader.seen and reader.seen[-1] == "26"
with works("maintenance", "cleanup, commit, compact, compact_view"):
    assert database.cleanup()["ok"] and database.commit()["ok"] and database.compact()["ok"]
    database.compact_view("by")
with record.not_offered("documents", "put_attachment", "attachments are not offered: 501"):
    with raises(GenericError):
        database.put_attachment(database.get("01"), b"text", filename="a.txt", content_type="text/plain")
with record.not_offered("server", "replicate", "the server does not replicate: 501"):
    with raises(GenericError):
        server.replicate("pycouch", "other")
with works("databases", "delete"):
    server.delete("pycouch")
    assert "pycouch" not in server
finish(record)
