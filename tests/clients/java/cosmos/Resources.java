package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.ThrottlingRetryOptions;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.ComputedProperty;
import com.azure.cosmos.models.ConflictResolutionPolicy;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosContainerRequestOptions;
import com.azure.cosmos.models.CosmosContainerResponse;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingMode;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.SpatialSpec;
import com.azure.cosmos.models.SpatialType;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import support.Expect;
import support.Recorder;

/** Databases and containers with all that their definitions may hold, and their throughput. */
final class Resources {
    private final Recorder recorder;
    private final Suite suite;
    private final CosmosClient client;
    private final CosmosDatabase database;

    Resources(Recorder recorder, Suite suite) {
        this.recorder = recorder;
        this.suite = suite;
        client = suite.client;
        database = client.getDatabase(suite.database.getId());
    }

    void run() {
        databases();
        containers();
        definitions();
        throughput();
        timeToLive();
    }

    private void databases() {
        String id = "größe & maß " + UUID.randomUUID();
        recorder.works("databases", "createDatabase, createDatabaseIfNotExists", () -> {
            Expect.equal(client.createDatabase(id).getStatusCode(), 201);
            Suite.error(409, () -> client.createDatabase(id));
            Expect.equal(client.createDatabaseIfNotExists(id).getProperties().getId(), id);
        });
        recorder.works("databases", "readAllDatabases, queryDatabases", () -> {
            Expect.isTrue(client.readAllDatabases().stream().anyMatch(one -> one.getId().equals(id)), "not listed");
            Expect.equal(client.queryDatabases("SELECT * FROM d WHERE d.id = '" + id + "'", new CosmosQueryRequestOptions())
                    .stream().count(), 1L);
        });
        recorder.works("databases", "read, delete", () -> {
            Expect.equal(client.getDatabase(id).read().getProperties().getId(), id);
            Expect.equal(client.getDatabase(id).delete().getStatusCode(), 204);
            Suite.error(404, () -> client.getDatabase(id).read());
        });
    }

    private void containers() {
        recorder.works("containers", "createContainer, createContainerIfNotExists", () -> {
            Expect.equal(database.createContainer("made", "/pk").getStatusCode(), 201);
            Suite.error(409, () -> database.createContainer("made", "/pk"));
            Expect.equal(database.createContainerIfNotExists("made", "/pk").getStatusCode(), 200);
        });
        recorder.works("containers", "readAllContainers, queryContainers", () -> {
            Expect.isTrue(database.readAllContainers().stream().anyMatch(one -> one.getId().equals("made")), "not listed");
            Expect.equal(database.queryContainers("SELECT * FROM c WHERE c.id = 'made'").stream().count(), 1L);
        });
        recorder.works("containers", "read with quota information", () -> {
            CosmosContainerResponse response = database.getContainer("made")
                    .read(new CosmosContainerRequestOptions().setQuotaInfoEnabled(true));
            Expect.equal(response.getProperties().getPartitionKeyDefinition().getPaths(), List.of("/pk"));
            Expect.isTrue(response.getMaxResourceQuota() != null && response.getCurrentResourceQuotaUsage() != null, "no quota");
        });
        recorder.works("containers", "replace", () -> {
            CosmosContainerProperties properties = database.getContainer("made").read().getProperties();
            properties.setDefaultTimeToLiveInSeconds(3600);
            database.getContainer("made").replace(properties);
            Expect.equal(database.getContainer("made").read().getProperties().getDefaultTimeToLiveInSeconds(), 3600);
        });
        recorder.works("containers", "delete, and create again while a client knows the old one", () -> {
            CosmosContainer container = database.getContainer("made");
            container.createItem(item("a", "x"));
            try (CosmosClient other = Suite.builder().buildClient()) {
                other.getDatabase(database.getId()).getContainer("made").delete();
                other.getDatabase(database.getId()).createContainer("made", "/pk");
            }
            container.createItem(item("b", "x"));
            Expect.equal(Json.ids(container.queryItems("SELECT * FROM c", null, JsonNode.class).stream().toList()), List.of("b"));
            Suite.error(404, () -> Calls.of(container).read("a", "x"));
            container.delete();
        });
        recorder.in("async").works("containers", "queryConflicts, readAllConflicts", () -> {
            CosmosAsyncContainer container = suite.newContainer();
            Expect.equal(container.readAllConflicts(new CosmosQueryRequestOptions()).collectList().block(), List.of());
            Expect.equal(container.queryConflicts("SELECT * FROM c").collectList().block(), List.of());
        });
    }

    private void definitions() {
        recorder.works("containers", "indexing policy: included, excluded, composite and spatial paths", () -> {
            IndexingPolicy policy = new IndexingPolicy().setIndexingMode(IndexingMode.CONSISTENT).setAutomatic(true)
                    .setIncludedPaths(List.of(new IncludedPath("/*"))).setExcludedPaths(List.of(new ExcludedPath("/big/*")))
                    .setSpatialIndexes(List.of(new SpatialSpec().setPath("/place/*").setSpatialTypes(List.of(SpatialType.POINT))))
                    .setCompositeIndexes(List.of(List.of(new CompositePath().setPath("/a").setOrder(CompositePathSortOrder.ASCENDING),
                            new CompositePath().setPath("/b").setOrder(CompositePathSortOrder.DESCENDING))));
            IndexingPolicy read = properties(define().setIndexingPolicy(policy)).getIndexingPolicy();
            Expect.equal(read.getCompositeIndexes().get(0).get(1).getOrder(), CompositePathSortOrder.DESCENDING);
            Expect.isTrue(read.getExcludedPaths().stream().anyMatch(path -> path.getPath().equals("/big/*")), "no /big/*");
            Expect.equal(read.getSpatialIndexes().get(0).getPath(), "/place/*");
        });
        recorder.works("containers", "indexing mode NONE", () -> Expect.equal(properties(define().setIndexingPolicy(
                new IndexingPolicy().setIndexingMode(IndexingMode.NONE).setAutomatic(false))).getIndexingPolicy().getIndexingMode(),
                IndexingMode.NONE));
        recorder.works("containers", "unique keys", () -> {
            UniqueKeyPolicy keys = new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/email", "/kind"))));
            CosmosContainerProperties properties = define().setUniqueKeyPolicy(keys);
            Calls calls = Calls.of(suite.newContainer(properties));
            calls.create(item("1", "x", "{'email':'a','kind':1}"));
            calls.create(item("2", "y", "{'email':'a','kind':1}"));
            Suite.error(409, () -> calls.create(item("3", "x", "{'email':'a','kind':1}")));
        });
        recorder.works("containers", "computed properties", () -> {
            CosmosContainerProperties properties = define();
            properties.setComputedProperties(List.of(new ComputedProperty("lower", "SELECT VALUE LOWER(c.name) FROM c")));
            Calls calls = Calls.of(suite.newContainer(properties));
            calls.create(item("1", "x", "{'name':'TENT'}"));
            Expect.equal(calls.query("SELECT VALUE c.lower FROM c").get(0).asText(), "tent");
        });
        recorder.works("containers", "conflict resolution policy", () -> properties(define()
                .setConflictResolutionPolicy(ConflictResolutionPolicy.createLastWriterWinsPolicy("/_ts"))));
        recorder.works("containers", "spatial functions", () -> {
            Calls calls = Calls.of(suite.newContainer());
            calls.create(item("1", "x", "{'place':{'type':'Point','coordinates':[31.9,-4.8]}}"));
            Expect.equal(calls.query("SELECT * FROM c WHERE ST_DISTANCE(c.place, {'type':'Point','coordinates':[31.9,-4.9]}) < 30000")
                    .size(), 1);
        });
    }

    private void throughput() {
        recorder.works("throughput", "manual throughput of a container", () -> {
            String id = "t-" + UUID.randomUUID();
            database.createContainer(new CosmosContainerProperties(id, "/pk"), ThroughputProperties.createManualThroughput(1000));
            CosmosContainer limited = database.getContainer(id);
            Expect.equal(limited.readThroughput().getProperties().getManualThroughput(), 1000);
            limited.replaceThroughput(ThroughputProperties.createManualThroughput(2000));
            Expect.equal(limited.readThroughput().getProperties().getManualThroughput(), 2000);
            Expect.equal(limited.readThroughput().getMinThroughput(), 400);
        });
        recorder.works("throughput", "autoscale of a container, and back to manual", () -> {
            String id = "t-" + UUID.randomUUID();
            database.createContainer(new CosmosContainerProperties(id, "/pk"), ThroughputProperties.createAutoscaledThroughput(4000));
            CosmosContainer scaled = database.getContainer(id);
            Expect.equal(scaled.readThroughput().getProperties().getAutoscaleMaxThroughput(), 4000);
            scaled.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(6000));
            Expect.equal(scaled.readThroughput().getProperties().getAutoscaleMaxThroughput(), 6000);
        });
        recorder.works("throughput", "throughput of a database", () -> {
            String id = "shared-" + UUID.randomUUID();
            client.createDatabase(id, ThroughputProperties.createManualThroughput(600));
            Expect.equal(client.getDatabase(id).readThroughput().getProperties().getManualThroughput(), 600);
            client.getDatabase(id).replaceThroughput(ThroughputProperties.createManualThroughput(800));
            Expect.equal(client.getDatabase(id).readThroughput().getProperties().getManualThroughput(), 800);
            client.getDatabase(id).delete();
        });
        recorder.works("throughput", "429 is retried, or told", () -> {
            // Each value is a row of the index, which is charged. After 30,000 of them a container owes 10 seconds of its
            // throughput, the most that it can owe: the next request is refused, however slow the machine is.
            String tooHot = "hot-" + UUID.randomUUID();
            String hot = "hot-" + UUID.randomUUID();
            for (String id : List.of(tooHot, hot)) {
                database.createContainer(new CosmosContainerProperties(id, "/pk"), ThroughputProperties.createManualThroughput(400));
            }
            try (CosmosClient impatient = Suite.builder().throttlingRetryOptions(
                    new ThrottlingRetryOptions().setMaxRetryAttemptsOnThrottledRequests(0)).buildClient()) {
                CosmosContainer container = impatient.getDatabase(database.getId()).getContainer(tooHot);
                CosmosException error = Suite.error(429, () -> write(container, 30_000, 3));
                Expect.isTrue(error.getRetryAfterDuration().compareTo(Duration.ZERO) > 0, "no time to wait");
                Expect.equal(error.getSubStatusCode(), 3200);
            }
            write(database.getContainer(hot), 1_000, 3);
        });
    }

    private void timeToLive() {
        recorder.works("time to live", "defaultTtl and ttl", () -> {
            CosmosContainerProperties properties = define();
            properties.setDefaultTimeToLiveInSeconds(-1);
            Calls calls = Calls.of(suite.newContainer(properties));
            calls.create(item("short", "x", "{'ttl':1}"));
            calls.create(item("long", "x", "{'ttl':1000}"));
            Thread.sleep(2100);
            Suite.error(404, () -> calls.read("short", "x"));
            Expect.equal(Json.ids(calls.query("SELECT * FROM c")), List.of("long"));
        });
    }

    private static void write(CosmosContainer container, int values, int count) {
        for (int i = 0; i < count; i++) {
            String list = IntStream.range(0, values).mapToObj(String::valueOf).collect(Collectors.joining(","));
            container.upsertItem(item("w" + i, "x", "{'values':[" + list + "]}"), key("x"), null);
        }
    }

    private static CosmosContainerProperties define() {
        return new CosmosContainerProperties("d-" + UUID.randomUUID(), "/pk");
    }

    private CosmosContainerProperties properties(CosmosContainerProperties definition) {
        return suite.newContainer(definition).read().block().getProperties();
    }
}
