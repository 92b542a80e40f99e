package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import support.Expect;
import support.Recorder;

/** Partition keys of each type, hierarchical ones, and prefixes of these. */
final class Keys {
    private static final List<List<?>> HIERARCHY = List.of(
            List.of("eu", "ann", 1), List.of("eu", "ann", 2), List.of("eu", "bob", 1), List.of("us", "ann", 1),
            List.of("us", "", true));

    private final Recorder recorder = Suite.ASYNC;
    private final Suite suite;

    Keys(Suite suite) {
        this.suite = suite;
    }

    void run() {
        Calls calls = Calls.of(suite.newWideContainer());
        typedKeys(calls);
        recorder.works("keys", "PartitionKey.NONE", () -> {
            calls.create(item("{'id':'none','n':1}"));
            CosmosItemRequestOptions options = new CosmosItemRequestOptions();
            Expect.equal(calls.read("none", PartitionKey.NONE, options).getItem().get("n").asInt(), 1);
            Expect.equal(calls.query(new SqlQuerySpec("SELECT * FROM c"),
                    new CosmosQueryRequestOptions().setPartitionKey(PartitionKey.NONE)).size(), 1);
            calls.delete("none", PartitionKey.NONE, options);
        });
        recorder.works("keys", "a definition of version 1", () -> {
            PartitionKeyDefinition definition = new PartitionKeyDefinition();
            definition.setPaths(List.of("/a/b"));
            definition.setVersion(PartitionKeyDefinitionVersion.V1);
            Calls nested = Calls.of(suite.newContainer(new CosmosContainerProperties("v1-" + UUID.randomUUID(), definition)));
            String value = "x".repeat(120);
            nested.create(item("{'id':'1','a':{'b':'" + value + "'}}"));
            Expect.equal(nested.read("1", value).get("id").asText(), "1");
            Expect.equal(nested.query("SELECT * FROM c WHERE c.a.b = '" + value + "'").size(), 1);
        });
        hierarchies();
    }

    private void typedKeys(Calls calls) {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("text", "ä€😀");
        values.put("empty text", "");
        values.put("odd text", "a:b,c/d%25 \\ \"'");
        values.put("long text", "k".repeat(2000));
        values.put("number", 42);
        values.put("fraction", -0.125);
        values.put("large number", 9007199254740991L);
        values.put("true", true);
        values.put("false", false);
        values.put("null", null);
        values.forEach((name, value) -> recorder.works("keys", "a key of the kind: " + name, () -> {
            ObjectNode item = item("1", value, "{'name':'" + name + "'}");
            calls.create(item);
            Expect.equal(calls.read("1", value).get("name").asText(), name);
            calls.upsert(item, key(value), new CosmosItemRequestOptions());
            CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(key(value));
            Expect.equal(calls.query(new SqlQuerySpec("SELECT * FROM c"), options).size(), 1);
            Expect.equal(calls.readMany(List.of(new CosmosItemIdentity(key(value), "1"),
                    new CosmosItemIdentity(key(value), "2"))).getResults().size(), 1);
            calls.delete("1", key(value), new CosmosItemRequestOptions());
        }));
    }

    private void hierarchies() {
        PartitionKeyDefinition definition = new PartitionKeyDefinition();
        definition.setPaths(List.of("/region", "/user", "/n"));
        definition.setKind(PartitionKind.MULTI_HASH);
        definition.setVersion(PartitionKeyDefinitionVersion.V2);
        CosmosContainerProperties properties = new CosmosContainerProperties("h-" + UUID.randomUUID(), definition);
        suite.database.createContainer(properties, ThroughputProperties.createManualThroughput(20_000)).block();
        CosmosAsyncContainer container = suite.database.getContainer(properties.getId());
        Calls calls = Calls.of(container);
        recorder.works("keys", "hierarchical keys", () -> {
            for (List<?> values : HIERARCHY) {
                ObjectNode item = item("1", values);
                item.set("region", item.get("pk").get(0));
                item.set("user", item.get("pk").get(1));
                item.set("n", item.get("pk").get(2));
                calls.create(item, values.get(0).equals("eu") ? key(values) : null, new CosmosItemRequestOptions());
                Expect.equal(calls.read("1", values).get("pk"), item.get("pk"));
            }
            List<CosmosItemIdentity> ids = HIERARCHY.stream().map(values -> new CosmosItemIdentity(key(values), "1")).toList();
            Expect.equal(calls.readMany(ids).getResults().size(), HIERARCHY.size());
        });
        recorder.works("keys", "queries of a prefix of a hierarchical key", () -> {
            Expect.equal(rows(calls, List.of("eu")), 3);
            Expect.equal(rows(calls, List.of("eu", "ann")), 2);
            Expect.equal(rows(calls, List.of("eu", "ann", 2)), 1);
            Expect.equal(calls.query("SELECT * FROM c WHERE c.region = 'us'").size(), 2);
        });
        recorder.works("keys", "readAllItems, readManyByPartitionKeys of a prefix", () -> {
            PartitionKey prefix = new PartitionKeyBuilder().add("eu").build();
            Expect.equal(calls.readAll(prefix).size(), 3);
            Expect.equal(calls.readManyByKeys(List.of(prefix)).size(), 3);
        });
        recorder.works("keys", "getFeedRanges, a query for each", () -> {
            int rows = container.getFeedRanges().block().stream().mapToInt(range -> calls.query(new SqlQuerySpec("SELECT * FROM c"),
                    new CosmosQueryRequestOptions().setFeedRange(range)).size()).sum();
            Expect.equal(rows, HIERARCHY.size());
        });
    }

    private static int rows(Calls calls, List<?> prefix) {
        CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(key(prefix));
        return calls.query(new SqlQuerySpec("SELECT * FROM c ORDER BY c.n"), options).size();
    }
}
