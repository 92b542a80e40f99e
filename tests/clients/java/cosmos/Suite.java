package cosmos;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.GatewayConnectionConfig;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.ThroughputProperties;
import java.util.UUID;
import support.Environment;
import support.Expect;
import support.Recorder;

/** What the suites share: clients in both modes, over HTTPS, a database for the suite, and what errors must say. */
final class Suite implements AutoCloseable {
    static final Recorder SYNC = new Recorder("com.azure", "azure-cosmos", "cosmos", "sync");
    static final Recorder ASYNC = SYNC.in("async");

    final CosmosClient client = builder().buildClient();
    final CosmosAsyncClient asyncClient = builder().buildAsyncClient();
    final CosmosAsyncDatabase database;

    Suite() {
        String id = "java-" + UUID.randomUUID();
        asyncClient.createDatabase(id).block();
        database = asyncClient.getDatabase(id);
    }

    static CosmosClientBuilder builder() {
        return builderWithoutKey().key(Environment.get(Environment.COSMOS_KEY));
    }

    static CosmosClientBuilder builderWithoutKey() {
        return new CosmosClientBuilder()
                .endpoint(Environment.get(Environment.COSMOS_HTTPS_URL))
                .gatewayMode(new GatewayConnectionConfig())
                .contentResponseOnWriteEnabled(true);
    }

    /** A new container with the key `/pk`. */
    CosmosAsyncContainer newContainer() {
        return newContainer(new CosmosContainerProperties("c-" + UUID.randomUUID(), "/pk"));
    }

    CosmosAsyncContainer newContainer(CosmosContainerProperties properties) {
        database.createContainer(properties).block();
        return database.getContainer(properties.getId());
    }

    /** A new container with two physical partitions. */
    CosmosAsyncContainer newWideContainer() {
        CosmosContainerProperties properties = new CosmosContainerProperties("c-" + UUID.randomUUID(), "/pk");
        database.createContainer(properties, ThroughputProperties.createManualThroughput(20_000)).block();
        return database.getContainer(properties.getId());
    }

    CosmosContainer sync(CosmosAsyncContainer container) {
        return client.getDatabase(database.getId()).getContainer(container.getId());
    }

    @Override
    public void close() {
        database.delete().block();
        client.close();
        asyncClient.close();
    }

    /** `check` must end with this status. */
    static CosmosException error(int status, Recorder.Check check) {
        CosmosException error = Expect.error(CosmosException.class, check);
        Expect.equal(error.getStatusCode(), status);
        return error;
    }
}
