package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchItemRequestOptions;
import com.azure.cosmos.models.CosmosBatchPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosBulkOperationResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosBulkPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import support.Environment;
import support.Expect;
import support.Recorder;

/** The calls on many items: batches, bulk, and reading and deleting several at once. */
final class Batches {
    private static final int MANY = Environment.isFull() ? 5000 : 1500;
    private static final int KEYS = 40;

    private final Recorder recorder;
    private final Calls calls;
    private final String pk;

    Batches(Recorder recorder, Calls calls) {
        this.recorder = recorder;
        this.calls = calls;
        pk = "batch-" + recorder.mode();
    }

    void run() {
        batches();
        bulk();
        reads();
    }

    private void batches() {
        recorder.works("batches", "executeCosmosBatch", () -> {
            calls.create(item("old", pk, "{'n':1}"));
            CosmosBatch batch = CosmosBatch.createCosmosBatch(key(pk));
            batch.createItemOperation(item("new", pk, "{'n':1}"));
            batch.readItemOperation("old");
            batch.upsertItemOperation(item("old", pk, "{'n':2}"));
            batch.replaceItemOperation("old", item("old", pk, "{'n':3}"));
            batch.patchItemOperation("old", CosmosPatchOperations.create().increment("/n", 4));
            batch.deleteItemOperation("new");
            CosmosBatchResponse response = calls.batch(batch);
            Expect.equal(statuses(response), List.of(201, 200, 200, 200, 200, 204));
            Expect.equal(response.getResults().get(1).getItem(ObjectNode.class).get("n").asInt(), 1);
            Expect.equal(calls.read("old", pk).get("n").asInt(), 7);
            Expect.isTrue(response.isSuccessStatusCode() && response.getRequestCharge() > 0, "no charge");
            Suite.error(404, () -> calls.read("new", pk));
        });
        recorder.works("batches", "executeCosmosBatch, one operation fails", () -> {
            CosmosBatch batch = CosmosBatch.createCosmosBatch(key(pk));
            batch.upsertItemOperation(item("rolled back", pk));
            batch.createItemOperation(item("old", pk));
            batch.readItemOperation("old");
            CosmosBatchResponse response = calls.batch(batch);
            Expect.equal(response.getStatusCode(), 409);
            Expect.equal(statuses(response), List.of(424, 409, 424));
            Suite.error(404, () -> calls.read("rolled back", pk));
        });
        recorder.works("batches", "executeCosmosBatch with conditions", () -> {
            String etag = calls.read("old", pk).get("_etag").asText();
            CosmosBatch batch = CosmosBatch.createCosmosBatch(key(pk));
            batch.patchItemOperation("old", CosmosPatchOperations.create().set("/n", 0),
                    new CosmosBatchPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.n = 7"));
            batch.replaceItemOperation("old", item("old", pk), new CosmosBatchItemRequestOptions().setIfMatchETag(etag));
            Expect.equal(statuses(calls.batch(batch)), List.of(424, 412));
            Expect.equal(calls.read("old", pk).get("_etag").asText(), etag);
        });
        recorder.works("batches", "executeCosmosBatch of 100 operations, and of 101", () -> {
            Expect.equal(calls.batch(creations(100)).getStatusCode(), 200);
            CosmosBatch batch = creations(101);
            Expect.isTrue(Expect.error(RuntimeException.class, () -> {
                if (!calls.batch(batch).isSuccessStatusCode()) {
                    throw new IllegalStateException("refused");
                }
            }) != null, "accepted");
        });
    }

    private CosmosBatch creations(int count) {
        CosmosBatch batch = CosmosBatch.createCosmosBatch(key(pk));
        IntStream.range(0, count).forEach(i -> batch.upsertItemOperation(item("of-" + i, pk)));
        return batch;
    }

    private void bulk() {
        recorder.works("bulk", "create thousands of items", () -> {
            List<CosmosBulkOperationResponse<Object>> responses = calls.bulk(IntStream.range(0, MANY)
                    .mapToObj(i -> CosmosBulkOperations.getCreateItemOperation(bulkItem(i), key(bulkKey(i)))).toList());
            Expect.equal(responses.size(), MANY);
            Expect.equal(statusesOf(responses), List.of(201));
            Expect.equal(calls.query("SELECT VALUE COUNT(1) FROM c WHERE c.kind = '" + pk + "'").get(0).asInt(), MANY);
        });
        recorder.works("bulk", "create, ids exist", () ->
                Expect.equal(statusesOf(calls.bulk(IntStream.range(0, 20)
                        .mapToObj(i -> CosmosBulkOperations.getCreateItemOperation(bulkItem(i), key(bulkKey(i)))).toList())),
                        List.of(409)));
        recorder.works("bulk", "read, upsert, replace, patch, delete", () -> {
            List<CosmosItemOperation> operations = Stream.of(
                    CosmosBulkOperations.getReadItemOperation("b-1", key(bulkKey(1))),
                    CosmosBulkOperations.getUpsertItemOperation(bulkItem(2), key(bulkKey(2))),
                    CosmosBulkOperations.getReplaceItemOperation("b-3", bulkItem(3), key(bulkKey(3))),
                    CosmosBulkOperations.getPatchItemOperation("b-4", key(bulkKey(4)), CosmosPatchOperations.create().set("/x", 1)),
                    CosmosBulkOperations.getPatchItemOperation("b-6", key(bulkKey(6)), CosmosPatchOperations.create().set("/x", 1),
                            new CosmosBulkPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.n > 1000000")),
                    CosmosBulkOperations.getDeleteItemOperation("b-5", key(bulkKey(5))),
                    CosmosBulkOperations.getReadItemOperation("missing", key(bulkKey(7)))).toList();
            Expect.equal(calls.bulk(operations).stream().map(response -> response.getResponse().getStatusCode()).sorted().toList(),
                    List.of(200, 200, 200, 200, 204, 404, 412));
        });
    }

    private void reads() {
        recorder.works("reads of many", "readMany", () -> {
            List<CosmosItemIdentity> ids = Stream.concat(IntStream.range(100, 100 + MANY / 2)
                    .mapToObj(i -> new CosmosItemIdentity(key(bulkKey(i)), "b-" + i)),
                    Stream.of(new CosmosItemIdentity(key(bulkKey(1)), "missing"))).toList();
            Expect.equal(calls.readMany(ids).getResults().size(), MANY / 2);
        });
        recorder.works("reads of many", "readMany of one item", () ->
                Expect.equal(Json.ids(calls.readMany(List.of(new CosmosItemIdentity(key(bulkKey(8)), "b-8"))).getResults()),
                        List.of("b-8")));
        recorder.works("reads of many", "readManyByPartitionKeys", () -> {
            List<ObjectNode> items = calls.readManyByKeys(List.of(key(bulkKey(10)), key(bulkKey(11)), key("nothing")));
            Expect.equal(Json.ids(items), IntStream.range(0, MANY).filter(i -> i % KEYS == 10 || i % KEYS == 11)
                    .mapToObj(i -> "b-" + i).sorted().toList());
        });
        recorder.works("reads of many", "readAllItems", () ->
                Expect.equal(Json.ids(calls.readAll(key(bulkKey(12)))),
                        IntStream.range(0, MANY).filter(i -> i % KEYS == 12).mapToObj(i -> "b-" + i).sorted().toList()));
        recorder.works("reads of many", "deleteAllItemsByPartitionKey", () -> {
            calls.deleteAll(key(bulkKey(13)));
            Expect.equal(calls.readAll(key(bulkKey(13))), List.of());
            Expect.isTrue(!calls.readAll(key(bulkKey(14))).isEmpty(), "more was deleted");
        });
    }

    private String bulkKey(int i) {
        return pk + "-" + i % KEYS;
    }

    private ObjectNode bulkItem(int i) {
        return item("b-" + i, bulkKey(i), "{'n':" + i + ",'kind':'" + pk + "'}");
    }

    private static List<Integer> statuses(CosmosBatchResponse response) {
        return response.getResults().stream().map(result -> result.getStatusCode()).toList();
    }

    private static List<Integer> statusesOf(List<CosmosBulkOperationResponse<Object>> responses) {
        return responses.stream().map(response -> response.getResponse().getStatusCode()).distinct().sorted().toList();
    }
}
