package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.ThrottlingRetryOptions;
import com.azure.cosmos.ThroughputControlGroupConfig;
import com.azure.cosmos.ThroughputControlGroupConfigBuilder;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PriorityLevel;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.UUID;
import support.Expect;
import support.Recorder;

/** Groups of requests by which a client limits itself: alone, or with other clients by items of a control container. */
final class ThroughputControl {
    private final Recorder recorder;
    private final Suite suite;
    private final String container = "c-" + UUID.randomUUID();

    ThroughputControl(Recorder recorder, Suite suite) {
        this.recorder = recorder;
        this.suite = suite;
    }

    void run() {
        suite.database.createContainer(new CosmosContainerProperties(container, "/pk"), ThroughputProperties.createManualThroughput(1000)).block();
        recorder.works("throughput", "enableLocalThroughputControlGroup", () -> limits(false));
        recorder.works("throughput", "enableGlobalThroughputControlGroup", () -> limits(true));
        recorder.works("throughput", "groups of a share of the throughput, default groups", this::shares);
    }

    private static ThroughputControlGroupConfigBuilder group(String name) {
        return new ThroughputControlGroupConfigBuilder().groupName(name);
    }

    private CosmosAsyncClient newClient() {
        return Suite.builder().throttlingRetryOptions(new ThrottlingRetryOptions().setMaxRetryAttemptsOnThrottledRequests(0)).buildAsyncClient();
    }

    /** A group of 6 RU/s stops its own requests, and no others. */
    private void limits(boolean global) {
        try (CosmosAsyncClient client = newClient()) {
            CosmosAsyncContainer limited = client.getDatabase(suite.database.getId()).getContainer(container);
            ThroughputControlGroupConfig config = group(global ? "global" : "local").targetThroughput(6).build();
            if (global) {
                CosmosContainerProperties control = new CosmosContainerProperties("control", "/groupId").setDefaultTimeToLiveInSeconds(-1);
                suite.database.createContainer(control).block();
                limited.enableGlobalThroughputControlGroup(config, client.createGlobalThroughputControlConfigBuilder(suite.database.getId(), "control")
                        .setControlItemRenewInterval(Duration.ofSeconds(5)).setControlItemExpireInterval(Duration.ofSeconds(11)).build());
            } else {
                limited.enableLocalThroughputControlGroup(config);
            }
            CosmosItemRequestOptions options = new CosmosItemRequestOptions();
            options.setThroughputControlGroupName(config.getGroupName());
            CosmosException stopped = Expect.error(CosmosException.class, () -> {
                for (int i = 0; i < 20; ++i) {
                    limited.createItem(item(config.getGroupName() + i, "x"), key("x"), options).block();
                }
            });
            Expect.equal(stopped.getStatusCode(), 429);
            limited.createItem(item(config.getGroupName() + "free", "x"), key("x"), new CosmosItemRequestOptions()).block();
            Expect.equal(limited.readItem(config.getGroupName() + "0", key("x"), JsonNode.class).block().getItem().get("id").asText(), config.getGroupName() + "0");
            if (global) {
                CosmosAsyncContainer control = suite.database.getContainer("control");
                Expect.equal(control.queryItems("SELECT VALUE COUNT(1) FROM c", Integer.class).blockFirst(), 2);
            }
        }
    }

    private void shares() {
        try (CosmosAsyncClient client = newClient()) {
            CosmosAsyncContainer limited = client.getDatabase(suite.database.getId()).getContainer(container);
            limited.enableLocalThroughputControlGroup(group("all").targetThroughputThreshold(0.9).defaultControlGroup(true).priorityLevel(PriorityLevel.LOW).build());
            for (int i = 0; i < 10; ++i) {
                limited.upsertItem(item("share" + i, "x"), key("x"), new CosmosItemRequestOptions()).block();
            }
            Expect.equal(limited.queryItems("SELECT VALUE COUNT(1) FROM c WHERE STARTSWITH(c.id, 'share')", new CosmosQueryRequestOptions(), Integer.class)
                    .blockFirst(), 10);
        }
    }
}
