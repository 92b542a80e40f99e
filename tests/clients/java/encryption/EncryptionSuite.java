package encryption;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.GatewayConnectionConfig;
import com.azure.cosmos.encryption.CosmosEncryptionAsyncClient;
import com.azure.cosmos.encryption.CosmosEncryptionAsyncContainer;
import com.azure.cosmos.encryption.CosmosEncryptionAsyncDatabase;
import com.azure.cosmos.encryption.CosmosEncryptionClientBuilder;
import com.azure.cosmos.encryption.models.CosmosEncryptionAlgorithm;
import com.azure.cosmos.encryption.models.CosmosEncryptionType;
import com.azure.cosmos.encryption.models.SqlQuerySpecWithEncryption;
import com.azure.cosmos.models.ClientEncryptionIncludedPath;
import com.azure.cosmos.models.ClientEncryptionPolicy;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.EncryptionKeyWrapMetadata;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import reactor.core.publisher.Flux;
import support.Environment;
import support.Expect;
import support.Recorder;

/** Properties that the client encrypts: keys, items in every kind of write, and queries. */
public final class EncryptionSuite {
    private static final Recorder RECORDER = new Recorder("com.azure", "azure-cosmos-encryption", "cosmos", "async");
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PartitionKey KEY = new PartitionKey("x");

    private final CosmosAsyncClient client = new CosmosClientBuilder()
            .endpoint(Environment.get(Environment.COSMOS_HTTPS_URL))
            .key(Environment.get(Environment.COSMOS_KEY))
            .gatewayMode(new GatewayConnectionConfig())
            .contentResponseOnWriteEnabled(true)
            .buildAsyncClient();
    private final CosmosAsyncDatabase database;
    private final CosmosEncryptionAsyncDatabase keys;
    private final CosmosAsyncContainer plain;
    private final CosmosEncryptionAsyncContainer container;

    private EncryptionSuite() {
        String id = "java-" + UUID.randomUUID();
        client.createDatabase(id).block();
        database = client.getDatabase(id);
        keys = clientWith(1).getCosmosEncryptionAsyncDatabase(id);
        plain = database.getContainer("items");
        container = keys.getCosmosEncryptionAsyncContainer("items");
    }

    public static void main(String[] arguments) {
        EncryptionSuite suite = new EncryptionSuite();
        try {
            suite.run();
        } finally {
            suite.database.delete().block();
            suite.client.close();
        }
        Recorder.exit();
    }

    private void run() {
        RECORDER.works("keys", "createClientEncryptionKey, read, readAllClientEncryptionKeys", this::createKeys);
        RECORDER.works("keys", "rewrapClientEncryptionKey", this::rewrap);
        RECORDER.works("containers", "createContainer with a client encryption policy", this::createContainer);
        RECORDER.works("items", "createItem, readItem, upsertItem, replaceItem, deleteItem", this::items);
        RECORDER.works("items", "patchItem of an encrypted property", this::patch);
        RECORDER.works("items", "executeCosmosBatch, executeBulkOperations", this::batches);
        RECORDER.works("queries", "queryItems, queryItemsOnEncryptedProperties", this::queries);
        RECORDER.works("queries", "what the server stores and other keys cannot read", this::secrets);
    }

    private CosmosEncryptionAsyncClient clientWith(int masterKey) {
        return new CosmosEncryptionClientBuilder().cosmosAsyncClient(client)
                .keyEncryptionKeyResolver(new LocalKeys(masterKey)).keyEncryptionKeyResolverName("LOCAL").buildAsyncClient();
    }

    private static EncryptionKeyWrapMetadata metadata(String value) {
        return new EncryptionKeyWrapMetadata("LOCAL", "master", value, "RSA-OAEP");  // the only one that the client knows
    }

    private void createKeys() {
        String algorithm = CosmosEncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256.getName();
        for (String id : List.of("key1", "key2")) {
            Expect.equal(keys.createClientEncryptionKey(id, algorithm, metadata("a")).block().getStatusCode(), 201);
        }
        Expect.equal(keys.readAllClientEncryptionKeys().collectList().block().size(), 2);
        Expect.equal(database.getClientEncryptionKey("key1").read().block().getProperties().getEncryptionKeyWrapMetadata(), metadata("a"));
        CosmosException error = Expect.error(CosmosException.class,
                () -> keys.createClientEncryptionKey("key1", algorithm, metadata("a")).block());
        Expect.equal(error.getStatusCode(), 409);
    }

    private void rewrap() {
        keys.rewrapClientEncryptionKey("key2", metadata("b")).block();
        Expect.equal(database.getClientEncryptionKey("key2").read().block().getProperties().getEncryptionKeyWrapMetadata(), metadata("b"));
    }

    private void createContainer() {
        CosmosContainerProperties properties = new CosmosContainerProperties("items", "/pk");
        properties.setClientEncryptionPolicy(new ClientEncryptionPolicy(List.of(
                path("/secret", "key1", CosmosEncryptionType.DETERMINISTIC),
                path("/number", "key1", CosmosEncryptionType.DETERMINISTIC),
                path("/nested", "key2", CosmosEncryptionType.RANDOMIZED))));
        Expect.equal(database.createContainer(properties).block().getStatusCode(), 201);
        Expect.equal(plain.read().block().getProperties().getClientEncryptionPolicy().getIncludedPaths().size(), 3);
    }

    private static ClientEncryptionIncludedPath path(String path, String key, CosmosEncryptionType type) {
        return new ClientEncryptionIncludedPath().setPath(path).setClientEncryptionKeyId(key)
                .setEncryptionType(type.getName()).setEncryptionAlgorithm(CosmosEncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256.getName());
    }

    private static ObjectNode item(String id, int number) {
        ObjectNode item = JSON.createObjectNode().put("id", id).put("pk", "x").put("open", id).put("secret", "s" + number).put("number", number);
        item.putObject("nested").put("text", "grün").putArray("list").add(1).add(true).add(2.5);
        return item;
    }

    /** In batches the client looks for the field `id` by reflection. */
    public static final class Row {
        public String id;
        public String pk = "x";
        public String open;
        public String secret;
        public int number;
        public JsonNode nested;

        Row(String id, int number) {
            this.id = id;
            this.open = id;
            this.number = number;
            secret = "s" + number;
            nested = item(id, number).get("nested");
        }
    }

    private ObjectNode read(String id) {
        return without(container.readItem(id, KEY, ObjectNode.class).block().getItem());
    }

    private static ObjectNode without(ObjectNode item) {
        return item.deepCopy().remove(List.of("_rid", "_self", "_etag", "_attachments", "_ts"));
    }

    /** As texts: numbers that were encrypted come back as those of another class. */
    private static List<String> texts(List<ObjectNode> items) {
        return items.stream().map(item -> without(item).toString()).toList();
    }

    private void items() {
        Expect.equal(without(container.createItem(item("a", 1), KEY, null).block().getItem()), item("a", 1));
        Expect.equal(read("a"), item("a", 1));
        container.upsertItem(item("a", 2), KEY, null).block();
        container.upsertItem(item("b", 3), KEY, null).block();
        Expect.equal(read("a"), item("a", 2));
        container.replaceItem(item("a", 4), "a", KEY).block();
        Expect.equal(read("a"), item("a", 4));
        container.deleteItem("a", KEY).block();
        Expect.equal(Expect.error(CosmosException.class, () -> read("a")).getStatusCode(), 404);
    }

    private void patch() {
        // This version of the client leaves out operations on properties that are not encrypted.
        CosmosPatchOperations operations = CosmosPatchOperations.create().set("/secret", "patched");
        container.patchItem("b", KEY, operations, new CosmosPatchItemRequestOptions(), ObjectNode.class).block();
        Expect.equal(read("b"), item("b", 3).put("secret", "patched"));
    }

    private void batches() {
        CosmosBatch batch = CosmosBatch.createCosmosBatch(KEY);
        batch.createItemOperation(new Row("c", 5));
        batch.upsertItemOperation(new Row("d", 6));
        Expect.isTrue(container.executeCosmosBatch(batch).block().isSuccessStatusCode(), "the batch failed");
        Expect.equal(read("d"), item("d", 6));
        var operations = Flux.range(0, 20).map(i -> CosmosBulkOperations.getCreateItemOperation(new Row("bulk" + i, 100 + i), KEY));
        var responses = container.executeBulkOperations(operations).collectList().block();
        Expect.isTrue(responses.stream().allMatch(one -> one.getResponse().getStatusCode() == 201), "a bulk operation failed");
        Expect.equal(read("bulk7"), item("bulk7", 107));
    }

    private void queries() {
        List<ObjectNode> all = container.queryItems("SELECT * FROM c WHERE c.open = 'bulk3'", ObjectNode.class).collectList().block();
        Expect.equal(texts(all), List.of(item("bulk3", 103).toString()));
        for (SqlParameter parameter : List.of(new SqlParameter("@value", "s105"), new SqlParameter("@value", 105L))) {
            String name = parameter.getValue(Object.class) instanceof String ? "secret" : "number";
            SqlQuerySpecWithEncryption query = new SqlQuerySpecWithEncryption(new SqlQuerySpec("SELECT * FROM c WHERE c." + name + " = @value"));
            query.addEncryptionParameter("/" + name, parameter);
            List<ObjectNode> found = container.queryItemsOnEncryptedProperties(query, new CosmosQueryRequestOptions(), ObjectNode.class).collectList().block();
            Expect.equal(texts(found), List.of(item("bulk5", 105).toString()));
        }
    }

    private void secrets() {
        JsonNode stored = plain.readItem("bulk5", KEY, JsonNode.class).block().getItem();
        Expect.equal(stored.get("open").asText(), "bulk5");
        Expect.isTrue(!stored.toString().contains("s105") && !stored.toString().contains("grün"), "not encrypted: " + stored);
        CosmosEncryptionAsyncContainer other = clientWith(2).getCosmosEncryptionAsyncDatabase(database.getId()).getCosmosEncryptionAsyncContainer("items");
        Throwable error = Expect.error(RuntimeException.class, () -> other.readItem("bulk5", KEY, JsonNode.class).block());
        Expect.isTrue(Objects.toString(error).contains("wrapped with another one") || Objects.toString(error.getCause()).contains("wrapped with another one"),
                "another error: " + error);
    }
}
