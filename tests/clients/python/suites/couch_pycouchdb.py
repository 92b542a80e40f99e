"""pycouchdb."""
import os
from urllib.parse import quote

import pycouchdb

from record import Record, finish

record = Record("pycouchdb", "couch", "sync")
name, password = quote(os.environ["OCTAVO_USER"]), quote(os.environ["OCTAVO_PASSWORD"])
server = pycouchdb.Server(os.environ["OCTAVO_COUCH_URL"].replace("//", f"//{name}:{password}@") + "/")

with record.works("server", "info"):
    assert server.info()["couchdb"] == "Welcome"
with record.works("databases", "create"):
    database = server.create("pycouch")
    assert "pycouch" in server
    assert len(database) == 0

finish(record)
