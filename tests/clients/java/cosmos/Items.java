package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;
import static cosmos.Json.stored;

import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.DedicatedGatewayRequestOptions;
import com.azure.cosmos.models.IndexingDirective;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.List;
import support.Expect;
import support.Recorder;

/** The calls on single items. */
final class Items {
    private static final List<String> ODD_IDS = List.of(
            "a b", "a+b", "a%20b", "50%", "a&b=c", "a:b", "_x", "!x", "ä€😀", "日本語", "a'b\"c", "[1]", "a,b;c", "{}", "..", "~",
            "a@b.c", "$id", "(x)", "x".repeat(255));

    private final Recorder recorder;
    private final Calls calls;
    /** Both modes use one container. */
    private final String pk;

    Items(Recorder recorder, Calls calls) {
        this.recorder = recorder;
        this.calls = calls;
        pk = recorder.mode();
    }

    void run() {
        writesAndReads();
        conditions();
        patches();
        requestOptions();
    }

    private void writesAndReads() {
        recorder.works("items", "createItem", () -> {
            ObjectNode item = item("1", pk, "{'n':1,'text':'ä€😀','list':[1,2.5,null,true],'nested':{'a':{'b':-0.5}}}");
            CosmosItemResponse<ObjectNode> response = calls.create(item);
            Expect.equal(response.getStatusCode(), 201);
            Expect.equal(stored(response.getItem()), item);
            Expect.isTrue(response.getETag() != null && response.getETag().startsWith("\""), "no ETag");
            Expect.isTrue(response.getRequestCharge() > 0, "no charge");
            Expect.isTrue(response.getSessionToken() != null, "no session token");
            Expect.isTrue(response.getActivityId() != null, "no activity id");
            Expect.isTrue(response.getDiagnostics() != null, "no diagnostics");
            Expect.equal(stored(calls.read("1", pk)), item);
        });
        recorder.works("items", "createItem, id exists", () -> Suite.error(409, () -> calls.create(item("1", pk))));
        recorder.works("items", "createItem without an id", () -> Suite.error(400, () -> calls.create(item("{'pk':'x'}"))));
        recorder.works("items", "createItem with another key than the item's", () ->
                Expect.equal(Suite.error(400, () -> calls.create(item("2", pk), key("other"), options())).getSubStatusCode(), 1001));
        recorder.works("items", "readItem, missing", () -> Suite.error(404, () -> calls.read("missing", pk)));
        recorder.works("items", "upsertItem", () -> {
            CosmosItemResponse<ObjectNode> created = calls.upsert(item("up", pk, "{'n':1}"), key(pk), options());
            CosmosItemResponse<ObjectNode> replaced = calls.upsert(item("up", pk, "{'n':2}"), null, options());
            Expect.equal(List.of(created.getStatusCode(), replaced.getStatusCode()), List.of(201, 200));
            Expect.equal(calls.read("up", pk).get("n").asInt(), 2);
        });
        recorder.works("items", "replaceItem", () -> {
            CosmosItemResponse<ObjectNode> response = calls.replace(item("up", pk, "{'n':3}"), "up", key(pk), options());
            Expect.equal(response.getStatusCode(), 200);
            Expect.equal(calls.read("up", pk).get("n").asInt(), 3);
        });
        recorder.works("items", "replaceItem, missing", () ->
                Suite.error(404, () -> calls.replace(item("none", pk), "none", key(pk), options())));
        recorder.works("items", "replaceItem with another id", () -> {
            calls.create(item("before", pk));
            CosmosItemResponse<ObjectNode> response = calls.replace(item("after", pk), "before", key(pk), options());
            Expect.equal(List.of(response.getStatusCode(), response.getItem().get("id").asText()), List.of(200, "after"));
            Suite.error(404, () -> calls.read("before", pk));
            Suite.error(409, () -> calls.replace(item("up", pk), "after", key(pk), options()));
            calls.delete("after", key(pk), options());
        });
        recorder.differs("items", "getMaxResourceQuota of an item's reply", "null; the replies of containers have it", () ->
                Expect.equal(calls.read("up", key(pk), options()).getMaxResourceQuota(), null));
        recorder.works("items", "deleteItem", () -> {
            calls.create(item("gone", pk));
            Expect.equal(calls.delete("gone", key(pk), options()).getStatusCode(), 204);
            Suite.error(404, () -> calls.read("gone", pk));
        });
        recorder.works("items", "deleteItem, missing", () -> Suite.error(404, () -> calls.delete("gone", key(pk), options())));
        recorder.works("items", "ids with odd characters", () -> {
            for (String id : ODD_IDS) {
                calls.create(item(id, pk, "{'n':1}"));
                Expect.equal(calls.read(id, pk).get("id").asText(), id);
                calls.replace(item(id, pk, "{'n':2}"), id, key(pk), options());
                calls.patch(id, key(pk), CosmosPatchOperations.create().increment("/n", 1), patchOptions());
                Expect.equal(calls.read(id, pk).get("n").asInt(), 3);
                calls.delete(id, key(pk), options());
            }
        });
        recorder.works("items", "an item of almost 2 MB, and one beyond", () -> {
            calls.create(item("large", pk, "{'text':'" + "x".repeat(1_990_000) + "'}"));
            Expect.equal(calls.read("large", pk).get("text").asText().length(), 1_990_000);
            Suite.error(413, () -> calls.create(item("larger", pk, "{'text':'" + "x".repeat(2_200_000) + "'}")));
            calls.delete("large", key(pk), options());
        });
    }

    private void conditions() {
        recorder.works("items", "replaceItem with If-Match", () -> {
            String first = calls.create(item("etag", pk, "{'n':1}")).getETag();
            CosmosItemRequestOptions options = options().setIfMatchETag(first);
            String second = calls.replace(item("etag", pk, "{'n':2}"), "etag", key(pk), options).getETag();
            Expect.isTrue(!second.equals(first), "the ETag has not changed");
            Suite.error(412, () -> calls.replace(item("etag", pk, "{'n':3}"), "etag", key(pk), options));
            Suite.error(412, () -> calls.delete("etag", key(pk), options));
            Suite.error(412, () -> calls.upsert(item("etag", pk), key(pk), options));
            Expect.equal(calls.read("etag", pk).get("n").asInt(), 2);
        });
        recorder.works("items", "readItem with If-None-Match", () -> {
            String etag = calls.read("etag", pk).get("_etag").asText();
            CosmosItemRequestOptions options = options().setIfNoneMatchETag(etag);
            Expect.equal(calls.read("etag", key(pk), options).getStatusCode(), 304);
            calls.upsert(item("etag", pk, "{'n':4}"), key(pk), options());
            Expect.equal(calls.read("etag", key(pk), options).getStatusCode(), 200);
        });
    }

    private void patches() {
        recorder.works("items", "patchItem: add, set, replace, remove, increment, move", () -> {
            calls.create(item("patch", pk, "{'a':1,'list':[1,3],'old':'x','count':5,'from':{'deep':true}}"));
            CosmosPatchOperations operations = CosmosPatchOperations.create()
                    .add("/list/1", 2).add("/list/-", 4).set("/new", item("{'x':null}")).replace("/a", "one")
                    .remove("/old").increment("/count", 2).increment("/count", 0.5).move("/from/deep", "/to");
            CosmosItemResponse<ObjectNode> response = calls.patch("patch", key(pk), operations, patchOptions());
            Expect.equal(response.getStatusCode(), 200);
            ObjectNode expected = item("patch", pk,
                    "{'a':'one','list':[1,2,3,4],'count':7.5,'from':{},'new':{'x':null},'to':true}");
            Expect.equal(stored(calls.read("patch", pk)), expected);
        });
        recorder.works("items", "patchItem with a condition", () -> {
            CosmosPatchOperations operations = CosmosPatchOperations.create().set("/state", "paid");
            calls.patch("patch", key(pk), operations, patchOptions().setFilterPredicate("FROM c WHERE c.count > 7"));
            Suite.error(412, () ->
                    calls.patch("patch", key(pk), operations, patchOptions().setFilterPredicate("FROM c WHERE c.count > 8")));
            Expect.equal(calls.read("patch", pk).get("state").asText(), "paid");
        });
        recorder.works("items", "patchItem with If-Match", () -> {
            CosmosPatchItemRequestOptions options = patchOptions();
            options.setIfMatchETag("\"1-00000000000000000000000000000000\"");
            Suite.error(412, () -> calls.patch("patch", key(pk), CosmosPatchOperations.create().set("/a", 1), options));
        });
        recorder.works("items", "patchItem, a path that is missing, a missing item", () -> {
            CosmosPatchOperations operations = CosmosPatchOperations.create().replace("/missing", 1);
            Suite.error(400, () -> calls.patch("patch", key(pk), operations, patchOptions()));
            Suite.error(404, () -> calls.patch("none", key(pk), operations, patchOptions()));
        });
    }

    private void requestOptions() {
        recorder.works("items", "contentResponseOnWriteEnabled(false)", () -> {
            CosmosItemRequestOptions minimal = options().setContentResponseOnWriteEnabled(false);
            CosmosItemResponse<ObjectNode> response = calls.create(item("minimal", pk), key(pk), minimal);
            Expect.equal(response.getStatusCode(), 201);
            Expect.equal(response.getItem(), null);
            Expect.isTrue(response.getETag() != null, "no ETag");
            Expect.equal(calls.replace(item("minimal", pk), "minimal", key(pk), minimal).getItem(), null);
            Expect.equal(calls.upsert(item("minimal", pk), key(pk), minimal).getItem(), null);
        });
        recorder.works("items", "a session token of an earlier write", () -> {
            String token = calls.upsert(item("session", pk), key(pk), options()).getSessionToken();
            CosmosItemRequestOptions options = options().setSessionToken(token);
            Expect.equal(calls.read("session", key(pk), options).getStatusCode(), 200);
        });
        recorder.differs("items", "setIndexingDirective(EXCLUDE)", "the item is indexed all the same", () -> {
            CosmosItemRequestOptions options = options().setIndexingDirective(IndexingDirective.EXCLUDE);
            Expect.equal(calls.upsert(item("indexed", pk, "{'n':77}"), key(pk), options).getStatusCode(), 201);
            Expect.equal(calls.query("SELECT * FROM c WHERE c.n = 77").size(), 1);
            calls.delete("indexed", key(pk), options());
        });
        recorder.works("items", "setDedicatedGatewayRequestOptions", () -> {
            DedicatedGatewayRequestOptions cache = new DedicatedGatewayRequestOptions().setMaxIntegratedCacheStaleness(Duration.ZERO);
            CosmosItemRequestOptions options = options().setDedicatedGatewayRequestOptions(cache);
            Expect.equal(calls.read("session", key(pk), options).getStatusCode(), 200);
        });
    }

    private static CosmosItemRequestOptions options() {
        return new CosmosItemRequestOptions();
    }

    private static CosmosPatchItemRequestOptions patchOptions() {
        return new CosmosPatchItemRequestOptions();
    }
}
