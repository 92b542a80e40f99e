package cosmos;

import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosBulkOperationResponse;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import reactor.core.publisher.Flux;

/** The calls on items, which the synchronous and the asynchronous container both have, so that checks are written once. */
interface Calls {
    CosmosItemResponse<ObjectNode> create(ObjectNode item, PartitionKey key, CosmosItemRequestOptions options);

    CosmosItemResponse<ObjectNode> upsert(ObjectNode item, PartitionKey key, CosmosItemRequestOptions options);

    CosmosItemResponse<ObjectNode> read(String id, PartitionKey key, CosmosItemRequestOptions options);

    CosmosItemResponse<ObjectNode> replace(ObjectNode item, String id, PartitionKey key, CosmosItemRequestOptions options);

    CosmosItemResponse<ObjectNode> patch(
            String id, PartitionKey key, CosmosPatchOperations operations, CosmosPatchItemRequestOptions options);

    CosmosItemResponse<Object> delete(String id, PartitionKey key, CosmosItemRequestOptions options);

    CosmosItemResponse<Object> deleteAll(PartitionKey key);

    FeedResponse<ObjectNode> readMany(List<CosmosItemIdentity> ids);

    List<ObjectNode> readAll(PartitionKey key);

    List<ObjectNode> readManyByKeys(List<PartitionKey> keys);

    CosmosBatchResponse batch(CosmosBatch batch);

    List<CosmosBulkOperationResponse<Object>> bulk(List<CosmosItemOperation> operations);

    List<JsonNode> query(SqlQuerySpec query, CosmosQueryRequestOptions options);

    /** The first page after `continuation`. */
    FeedResponse<JsonNode> page(SqlQuerySpec query, CosmosQueryRequestOptions options, String continuation, int rows);

    FeedResponse<JsonNode> changes(CosmosChangeFeedRequestOptions options);

    default CosmosItemResponse<ObjectNode> create(ObjectNode item) {
        return create(item, null, new CosmosItemRequestOptions());
    }

    default ObjectNode read(String id, Object key) {
        return read(id, Json.key(key), new CosmosItemRequestOptions()).getItem();
    }

    default List<JsonNode> query(String text) {
        return query(new SqlQuerySpec(text), new CosmosQueryRequestOptions());
    }

    static Calls of(CosmosContainer container) {
        return new Synchronous(container);
    }

    static Calls of(CosmosAsyncContainer container) {
        return new Asynchronous(container);
    }

    /** The calls of {@link CosmosContainer}. */
    record Synchronous(CosmosContainer container) implements Calls {
        @Override
        public CosmosItemResponse<ObjectNode> create(ObjectNode item, PartitionKey key, CosmosItemRequestOptions options) {
            return key == null ? container.createItem(item, options) : container.createItem(item, key, options);
        }

        @Override
        public CosmosItemResponse<ObjectNode> upsert(ObjectNode item, PartitionKey key, CosmosItemRequestOptions options) {
            return key == null ? container.upsertItem(item, options) : container.upsertItem(item, key, options);
        }

        @Override
        public CosmosItemResponse<ObjectNode> read(String id, PartitionKey key, CosmosItemRequestOptions options) {
            return container.readItem(id, key, options, ObjectNode.class);
        }

        @Override
        public CosmosItemResponse<ObjectNode> replace(
                ObjectNode item, String id, PartitionKey key, CosmosItemRequestOptions options) {
            return container.replaceItem(item, id, key, options);
        }

        @Override
        public CosmosItemResponse<ObjectNode> patch(
                String id, PartitionKey key, CosmosPatchOperations operations, CosmosPatchItemRequestOptions options) {
            return container.patchItem(id, key, operations, options, ObjectNode.class);
        }

        @Override
        public CosmosItemResponse<Object> delete(String id, PartitionKey key, CosmosItemRequestOptions options) {
            return container.deleteItem(id, key, options);
        }

        @Override
        public CosmosItemResponse<Object> deleteAll(PartitionKey key) {
            return container.deleteAllItemsByPartitionKey(key, new CosmosItemRequestOptions());
        }

        @Override
        public FeedResponse<ObjectNode> readMany(List<CosmosItemIdentity> ids) {
            return container.readMany(ids, ObjectNode.class);
        }

        @Override
        public List<ObjectNode> readAll(PartitionKey key) {
            return container.readAllItems(key, ObjectNode.class).stream().toList();
        }

        @Override
        public List<ObjectNode> readManyByKeys(List<PartitionKey> keys) {
            return container.readManyByPartitionKeys(keys, ObjectNode.class).stream().toList();
        }

        @Override
        public CosmosBatchResponse batch(CosmosBatch batch) {
            return container.executeCosmosBatch(batch);
        }

        @Override
        public List<CosmosBulkOperationResponse<Object>> bulk(List<CosmosItemOperation> operations) {
            List<CosmosBulkOperationResponse<Object>> responses = new ArrayList<>();
            container.executeBulkOperations(operations).forEach(responses::add);
            return responses;
        }

        @Override
        public List<JsonNode> query(SqlQuerySpec query, CosmosQueryRequestOptions options) {
            return container.queryItems(query, options, JsonNode.class).stream().toList();
        }

        @Override
        public FeedResponse<JsonNode> page(
                SqlQuerySpec query, CosmosQueryRequestOptions options, String continuation, int rows) {
            return container.queryItems(query, options, JsonNode.class).iterableByPage(continuation, rows).iterator().next();
        }

        @Override
        public FeedResponse<JsonNode> changes(CosmosChangeFeedRequestOptions options) {
            return container.queryChangeFeed(options, JsonNode.class).iterableByPage().iterator().next();
        }
    }

    /** The calls of {@link CosmosAsyncContainer}. */
    record Asynchronous(CosmosAsyncContainer container) implements Calls {
        @Override
        public CosmosItemResponse<ObjectNode> create(ObjectNode item, PartitionKey key, CosmosItemRequestOptions options) {
            return (key == null ? container.createItem(item, options) : container.createItem(item, key, options)).block();
        }

        @Override
        public CosmosItemResponse<ObjectNode> upsert(ObjectNode item, PartitionKey key, CosmosItemRequestOptions options) {
            return (key == null ? container.upsertItem(item, options) : container.upsertItem(item, key, options)).block();
        }

        @Override
        public CosmosItemResponse<ObjectNode> read(String id, PartitionKey key, CosmosItemRequestOptions options) {
            return container.readItem(id, key, options, ObjectNode.class).block();
        }

        @Override
        public CosmosItemResponse<ObjectNode> replace(
                ObjectNode item, String id, PartitionKey key, CosmosItemRequestOptions options) {
            return container.replaceItem(item, id, key, options).block();
        }

        @Override
        public CosmosItemResponse<ObjectNode> patch(
                String id, PartitionKey key, CosmosPatchOperations operations, CosmosPatchItemRequestOptions options) {
            return container.patchItem(id, key, operations, options, ObjectNode.class).block();
        }

        @Override
        public CosmosItemResponse<Object> delete(String id, PartitionKey key, CosmosItemRequestOptions options) {
            return container.deleteItem(id, key, options).block();
        }

        @Override
        public CosmosItemResponse<Object> deleteAll(PartitionKey key) {
            return container.deleteAllItemsByPartitionKey(key, new CosmosItemRequestOptions()).block();
        }

        @Override
        public FeedResponse<ObjectNode> readMany(List<CosmosItemIdentity> ids) {
            return container.readMany(ids, ObjectNode.class).block();
        }

        @Override
        public List<ObjectNode> readAll(PartitionKey key) {
            return container.readAllItems(key, ObjectNode.class).collectList().block();
        }

        @Override
        public List<ObjectNode> readManyByKeys(List<PartitionKey> keys) {
            return container.readManyByPartitionKeys(keys, ObjectNode.class).collectList().block();
        }

        @Override
        public CosmosBatchResponse batch(CosmosBatch batch) {
            return container.executeCosmosBatch(batch).block();
        }

        @Override
        public List<CosmosBulkOperationResponse<Object>> bulk(List<CosmosItemOperation> operations) {
            return container.executeBulkOperations(Flux.fromIterable(operations)).collectList().block();
        }

        @Override
        public List<JsonNode> query(SqlQuerySpec query, CosmosQueryRequestOptions options) {
            return container.queryItems(query, options, JsonNode.class).collectList().block();
        }

        @Override
        public FeedResponse<JsonNode> page(
                SqlQuerySpec query, CosmosQueryRequestOptions options, String continuation, int rows) {
            return container.queryItems(query, options, JsonNode.class).byPage(continuation, rows).next().block();
        }

        @Override
        public FeedResponse<JsonNode> changes(CosmosChangeFeedRequestOptions options) {
            return container.queryChangeFeed(options, JsonNode.class).byPage().next().block();
        }
    }
}
