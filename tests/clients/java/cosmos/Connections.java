package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosEndToEndOperationLatencyPolicyConfigBuilder;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.GatewayConnectionConfig;
import com.azure.cosmos.Http2ConnectionConfig;
import com.azure.cosmos.ReadConsistencyStrategy;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import support.Environment;
import support.Expect;
import support.Recorder;

/** Clients that connect in other ways, and each consistency level. */
final class Connections {
    private final Recorder recorder = Suite.ASYNC;
    private final Suite suite;
    private final CosmosAsyncContainer container;

    Connections(Suite suite, CosmosAsyncContainer container) {
        this.suite = suite;
        this.container = container;
    }

    void run() {
        recorder.works("connections", "HTTPS, with the certificate in a trust store", () -> writeAndRead(builder -> builder));
        recorder.works("connections", "HTTP, with COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", () ->
                writeAndRead(builder -> builder.endpoint(Environment.get(Environment.COSMOS_URL))));
        recorder.works("connections", "HTTP/2 enabled: the connection stays HTTP/1.1", () ->
                writeAndRead(builder -> builder.gatewayMode(new GatewayConnectionConfig()
                        .setHttp2ConnectionConfig(new Http2ConnectionConfig().setEnabled(true)))));
        for (ConsistencyLevel level : ConsistencyLevel.values()) {
            recorder.works("connections", "consistencyLevel(" + level + ")", () ->
                    writeAndRead(builder -> builder.consistencyLevel(level)));
        }
        recorder.works("connections", "ReadConsistencyStrategy LATEST_COMMITTED, SESSION, EVENTUAL", () -> {
            for (ReadConsistencyStrategy strategy : List.of(ReadConsistencyStrategy.LATEST_COMMITTED,
                    ReadConsistencyStrategy.SESSION, ReadConsistencyStrategy.EVENTUAL)) {
                writeAndRead(builder -> builder.readConsistencyStrategy(strategy));
            }
        });
        recorder.works("connections", "preferredRegions, multiple write regions, endpoint discovery", () ->
                writeAndRead(builder -> builder.preferredRegions(List.of("West US")).multipleWriteRegionsEnabled(true)
                        .endpointDiscoveryEnabled(true)));
        recorder.works("connections", "connection sharing, user agent suffix, end-to-end latency policy", () ->
                writeAndRead(builder -> builder.connectionSharingAcrossClientsEnabled(true).userAgentSuffix("octavo")
                        .endToEndOperationLatencyPolicyConfig(
                                new CosmosEndToEndOperationLatencyPolicyConfigBuilder(Duration.ofSeconds(20)).build())));
        recorder.works("connections", "a wrong key", () ->
                Suite.error(401, () -> writeAndRead(builder -> builder.key("d3Jvbmc="))));
        recorder.notOffered("connections", "directMode()", "direct mode needs servers that speak another protocol; gateway mode works",
                () -> {
                    CosmosException error = Suite.error(400, () -> writeAndRead(CosmosClientBuilder::directMode));
                    Expect.isTrue(error.getMessage().toLowerCase().contains("gateway"), error.getMessage());
                });
    }

    private void writeAndRead(UnaryOperator<CosmosClientBuilder> change) {
        try (CosmosAsyncClient client = change.apply(Suite.builder()).buildAsyncClient()) {
            Calls calls = Calls.of(client.getDatabase(suite.database.getId()).getContainer(container.getId()));
            ObjectNode item = item("connected", "connections", "{'n':1}");
            calls.upsert(item, key("connections"), new CosmosItemRequestOptions());
            Expect.equal(calls.read("connected", "connections").get("n").asInt(), 1);
            Expect.equal(calls.query("SELECT * FROM c WHERE c.pk = 'connections'").size(), 1);
        }
    }
}
