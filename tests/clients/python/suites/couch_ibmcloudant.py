"""ibmcloudant: every method of its CloudantV1, with a password and with a session."""
import json
import os

from ibm_cloud_sdk_core import ApiException
from ibm_cloud_sdk_core.authenticators import BasicAuthenticator
from ibmcloudant import CouchDbSessionAuthenticator
from ibmcloudant.cloudant_v1 import CloudantV1
from ibmcloudant.features.changes_follower import ChangesFollower
from ibmcloudant.features.pagination import Pagination, PagerType

from record import Record, finish, raises

USER, PASSWORD = os.environ["OCTAVO_USER"], os.environ["OCTAVO_PASSWORD"]
MAP = "function (doc) { emit(doc.n, 1); }"
INDEX = "function (doc) { index('default', doc.text); }"
DB, PARTITIONED = {"db": "cloudant"}, {"db": "cloudant-parts"}
ANIMALS = {**PARTITIONED, "partition_key": "p"}
NO_REV = "1-" + "0" * 32
REPLICATION = {"source": {"url": "http://127.0.0.1/a"}, "target": {"url": "http://127.0.0.1/b"}}
PHOTO = {**DB, "doc_id": "01", "attachment_name": "photo.png"}
SIZES = {  # method: parameters, member of the result, how many it has
    "post_all_docs": (dict(DB, start_key="05", limit=3), "rows", 3),
    "post_all_docs_queries": (dict(DB, queries=[{"limit": 1}, {"keys": ["05"]}]), "results", 2),
    "post_bulk_get": (dict(DB, docs=[{"id": "01"}, {"id": "02"}]), "results", 2),
    "post_changes": (dict(DB, limit=5), "results", 5),
    "post_find": (dict(DB, selector={"n": {"$gt": 25}}), "docs", 4),
    "post_search": (dict(DB, ddoc="all", index="texts", query="red"), "rows", 1),
    "post_view": (dict(DB, ddoc="all", view="n", reduce=False, start_key=3, end_key=5), "rows", 3),
    "post_view_queries": (dict(DB, ddoc="all", view="n", queries=[{"limit": 1}, {"key": 5}]), "results", 2),
    "post_partition_all_docs": (dict(ANIMALS), "rows", 10),
    "post_partition_find": (dict(ANIMALS, selector={"n": {"$lt": 6}}), "docs", 3),
    "post_partition_search": (dict(ANIMALS, ddoc="own", index="texts", query="red"), "rows", 10),
    "post_partition_view": (dict(ANIMALS, ddoc="own", view="n"), "rows", 10),
}
LATER = {"get_replication_document": {"doc_id": "r"}, "head_replication_document": {"doc_id": "r"},
         "get_scheduler_document": {"doc_id": "r"}, "head_scheduler_document": {"doc_id": "r"},
         "get_scheduler_job": {"job_id": "r"}, "head_scheduler_job": {"job_id": "r"},
         "delete_replication_document": {"doc_id": "r", "rev": NO_REV}}
REFUSED = {
    "put_attachment": (dict(PHOTO, attachment=b"x", content_type="image/png"), 501, "attachments are not offered"),
    "get_attachment": (PHOTO, 404, "attachments are not offered"),
    "head_attachment": (PHOTO, 404, "attachments are not offered"),
    "delete_attachment": (dict(PHOTO, rev=NO_REV), 404, "attachments are not offered"),
    "post_replicator": ({"replication_document": REPLICATION}, 501, "the server does not replicate"),
    "put_replication_document": ({"doc_id": "r", "replication_document": REPLICATION}, 501, "the server does not replicate"),
    **{name: (parameters, 404, "the server does not replicate") for name, parameters in LATER.items()},
    "get_activity_tracker_events": ({}, 501, "a service of IBM Cloud"),
    "post_activity_tracker_events": ({"types": ["management"]}, 501, "a service of IBM Cloud"),
    "get_capacity_databases_information": ({}, 501, "a service of IBM Cloud"),
    "get_capacity_throughput_information": ({}, 501, "a service of IBM Cloud"),
    "get_current_throughput_information": ({}, 501, "a service of IBM Cloud"),
    "put_capacity_throughput_configuration": ({"blocks": 1}, 501, "a service of IBM Cloud"),
}


def run(mode, authenticator):
    record = Record("ibmcloudant", "couch", mode)
    client = CloudantV1(authenticator=authenticator)
    client.set_service_url(os.environ["OCTAVO_COUCH_URL"])
    checked = set()

    def check(area, name, expect=lambda result: True, /, **parameters):
        checked.add(name)
        with record.works(area, name):
            reply = getattr(client, name)(**parameters)
            result = reply.get_result()
            assert expect(result), result
            return reply
        return None

    check("server", "get_server_information", lambda one: one["couchdb"] == "Welcome")
    check("server", "get_up_information", lambda one: one["status"] == "ok")
    check("server", "head_up_information")
    check("server", "get_uuids", lambda one: len(one["uuids"]) == 2, count=2)
    check("server", "get_membership_information", lambda one: one["all_nodes"])
    check("server", "get_active_tasks", lambda one: isinstance(one, list))
    check("server", "get_session_information", lambda one: one["userCtx"]["name"] == USER)
    check("server", "get_scheduler_docs", lambda one: one["total_rows"] == 0)
    check("server", "get_scheduler_jobs", lambda one: one["total_rows"] == 0)
    check("server", "get_cors_information", lambda one: one["enable_cors"] is False)
    check("server", "put_cors_configuration", lambda one: one["ok"], origins=["https://a.example.com"], enable_cors=False)
    databases(client, record, check)
    documents(record, check)
    designs(client, record, check)
    for name, (parameters, member, size) in SIZES.items():
        area = "partitions" if "partition" in name else "listings and queries"
        check(area, name, lambda one: len(one[member]) == size, **parameters)
        checked.add(f"{name}_as_stream")
        with record.works(area, f"{name}_as_stream"):
            streamed = getattr(client, f"{name}_as_stream")(**parameters).get_result()
            assert len(json.loads(streamed.content)[member]) == size
    features(client, record)
    for name, (parameters, code, why) in REFUSED.items():
        checked.add(name)
        with record.not_offered("not offered", name, f"{why}: {code}"):
            with raises(ApiException, status_code=code):
                getattr(client, name)(**parameters)
    for database in (DB, PARTITIONED):
        check("databases", "delete_database", lambda one: one["ok"], **database)
    with record.works("server", "every method is called"):
        methods = {name for name in vars(CloudantV1) if name[0] != "_" and callable(getattr(CloudantV1, name))}
        assert methods - checked - {"new_instance"} == set(), methods - checked
    return record


def databases(client, record, check):
    check("databases", "put_database", lambda one: one["ok"], **DB)
    check("databases", "put_database", lambda one: one["ok"], partitioned=True, q=2, **PARTITIONED)
    with record.works("databases", "put_database"):
        with raises(ApiException, status_code=412):
            client.put_database(**DB)
    check("databases", "head_database", **DB)
    check("databases", "get_all_dbs", lambda one: DB["db"] in one)
    check("databases", "get_database_information", lambda one: one["db_name"] == DB["db"], **DB)
    check("databases", "get_current_databases_information", lambda one: one["databases"]["total"] >= 2)
    check("databases", "post_dbs_info", lambda one: one[1]["error"] == "not_found", keys=[DB["db"], "nowhere"])
    check("databases", "get_db_updates", lambda one: one["results"], feed="normal")
    check("databases", "get_shards_information", lambda one: len(one["shards"]) == 2, **PARTITIONED)
    check("databases", "get_document_shards_info", lambda one: one["range"], doc_id="01", **DB)
    check("security", "put_security", lambda one: one["ok"], members={"names": ["ann"], "roles": []}, **DB)
    check("security", "get_security", lambda one: one["members"]["names"] == ["ann"], **DB)
    key = check("security", "post_api_keys", lambda one: one["ok"]).get_result()["key"]
    check("security", "put_cloudant_security_configuration", lambda one: one["ok"], cloudant={key: ["_reader"]}, **DB)


def documents(record, check):
    rev = check("documents", "post_document", lambda one: one["ok"], document={"_id": "Größe / 1", "n": 1},
                **DB).get_result()["rev"]
    named = {**DB, "doc_id": "Größe / 1"}
    rev = check("documents", "put_document", lambda one: one["rev"][:2] == "2-", document={"n": 2}, rev=rev,
                **named).get_result()["rev"]
    check("documents", "get_document", lambda one: one["n"] == 2 and one["_revisions"]["start"] == 2, revs=True, **named)
    check("documents", "get_document_as_mixed", lambda one: one["n"] == 2, **named)  # no attachments: JSON
    check("documents", "get_document_as_related", lambda one: one["n"] == 2, **named)
    check("documents", "get_document_as_stream", lambda one: json.loads(one.content)["n"] == 2, **named)
    with record.works("documents", "head_document"):
        assert check("documents", "head_document", **named).get_headers()["ETag"] == f'"{rev}"'
    check("documents", "delete_document", lambda one: one["ok"], rev=rev, **named)
    docs = [{"_id": f"{n:02}", "n": n, "text": "red apple" if n == 1 else "pear"} for n in range(30)]
    check("documents", "post_bulk_docs", lambda one: len(one) == 30, bulk_docs={"docs": docs}, **DB)
    check("documents", "post_bulk_docs", lambda one: len(one) == 20, bulk_docs={"docs": [
        {"_id": f"{'pq'[n % 2]}:{n:02}", "n": n, "text": "red"} for n in range(20)]}, **PARTITIONED)
    wanted = [{"id": "01"}, {"id": "02"}]
    check("documents", "post_bulk_get_as_mixed", lambda one: b'"_id":"01"' in one.content, docs=wanted, **DB)
    check("documents", "post_bulk_get_as_related", lambda one: b'"_id":"01"' in one.content, docs=wanted, **DB)
    check("documents", "post_revs_diff", lambda one: one["01"]["missing"] == [NO_REV],
          document_revisions={"01": [NO_REV]}, **DB)
    local = {**DB, "doc_id": "checkpoint"}
    check("documents", "put_local_document", lambda one: one["ok"], document={"seq": 7}, **local)
    check("documents", "get_local_document", lambda one: one["seq"] == 7, **local)
    check("documents", "head_local_document", **local)
    check("documents", "delete_local_document", lambda one: one["ok"], **local)
    check("partitions", "get_partition_information", lambda one: one["doc_count"] == 10, **ANIMALS)


def designs(client, record, check):
    views = {"views": {"n": {"map": MAP}}, "indexes": {"texts": {"index": INDEX}}}
    named = {**DB, "ddoc": "all"}
    check("design documents", "put_design_document", lambda one: one["ok"], design_document=views, **named)
    client.put_design_document(design_document=views, ddoc="own", **PARTITIONED)
    rev = client.put_design_document(design_document=views, ddoc="old", **DB).get_result()["rev"]
    check("design documents", "get_design_document", lambda one: list(one["views"]) == ["n"], **named)
    check("design documents", "head_design_document", **named)
    check("design documents", "get_design_document_information", lambda one: one["name"] == "all", **named)
    check("design documents", "post_design_docs", lambda one: len(one["rows"]) == 2, **DB)
    check("design documents", "post_design_docs_queries", lambda one: len(one["results"]) == 1, queries=[{"limit": 1}], **DB)
    check("design documents", "delete_design_document", lambda one: one["ok"], ddoc="old", rev=rev, **DB)
    check("listings and queries", "post_search", lambda one: one["total_rows"] == 1, ddoc="all", index="texts",
          query="red", **DB)
    check("search", "get_search_info", lambda one: one["search_index"]["doc_count"] == 30, index="texts", **named)
    check("search", "get_search_disk_size", lambda one: one["search_index"]["disk_size"] > 0, index="texts", **named)
    check("search", "post_search_analyze", lambda one: one["tokens"] == ["run"], analyzer="english", text="Running")
    index = {"ddoc": "by-n", "name": "n", "type": "json"}
    check("indexes", "post_index", lambda one: one["result"] == "created", index={"fields": [{"n": "asc"}]}, **index, **DB)
    check("indexes", "get_indexes_information", lambda one: one["total_rows"] == 2, **DB)
    check("indexes", "post_explain", lambda one: one["index"]["name"] == "n", selector={"n": 1}, **DB)
    check("indexes", "post_partition_explain", lambda one: one["partitioned"], selector={"n": 1}, **ANIMALS)
    check("indexes", "delete_index", lambda one: one["ok"], ddoc="by-n", type="json", index="n", **DB)


def features(client, record):
    with record.works("features", "ChangesFollower"):
        seen = [one.id for one in ChangesFollower(client, **DB).start_one_off()]
        assert {"01", "29"} <= set(seen)
    for name, kind, parameters, count in (
            ("POST_ALL_DOCS", PagerType.POST_ALL_DOCS, DB, 31), ("POST_FIND", PagerType.POST_FIND,
                                                                 {**DB, "selector": {"n": {"$gte": 5}}}, 25),
            ("POST_VIEW", PagerType.POST_VIEW, {**DB, "ddoc": "all", "view": "n"}, 30),
            ("POST_SEARCH", PagerType.POST_SEARCH, {**DB, "ddoc": "all", "index": "texts", "query": "pear"}, 29),
            ("POST_PARTITION_ALL_DOCS", PagerType.POST_PARTITION_ALL_DOCS, ANIMALS, 10)):
        with record.works("features", f"Pagination, {name}"):
            rows = list(Pagination.new_pagination(client, kind, limit=7, **parameters).rows())
            assert len(rows) == count, len(rows)
    with record.works("features", "gzip compressed requests"):
        client.set_enable_gzip_compression(True)
        assert client.post_document(document={"_id": "big", "text": "x" * 100_000}, **DB).get_result()["ok"]
        assert len(client.get_document(doc_id="big", **DB).get_result()["text"]) == 100_000
        client.set_enable_gzip_compression(False)


records = [run("password", BasicAuthenticator(USER, PASSWORD)), run("session", CouchDbSessionAuthenticator(USER, PASSWORD))]
finish(*records)
