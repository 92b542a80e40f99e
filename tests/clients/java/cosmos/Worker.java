package cosmos;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** A processor of a change feed. As a program, it prints the id of each item that it has handled, until it is killed. */
public final class Worker {
    private Worker() {}

    public static void main(String[] arguments) throws InterruptedException {
        CosmosAsyncClient client = Suite.builder().buildAsyncClient();
        CosmosAsyncDatabase database = client.getDatabase(arguments[0]);
        processor(database, arguments[1], arguments[2], "child", Worker::print).start().block();
        Thread.currentThread().join();
    }

    static ChangeFeedProcessor processor(CosmosAsyncDatabase database, String feed, String leases, String host,
            Consumer<List<JsonNode>> handler) {
        return new ChangeFeedProcessorBuilder().hostName(host).feedContainer(database.getContainer(feed))
                .leaseContainer(database.getContainer(leases)).options(options()).handleChanges(handler).buildChangeFeedProcessor();
    }

    /** Short times, so that a lease changes hands within seconds. */
    static ChangeFeedProcessorOptions options() {
        return new ChangeFeedProcessorOptions().setStartFromBeginning(true).setFeedPollDelay(Duration.ofMillis(100))
                .setLeaseRenewInterval(Duration.ofMillis(500)).setLeaseAcquireInterval(Duration.ofMillis(500))
                .setLeaseExpirationInterval(Duration.ofSeconds(3)).setMaxItemCount(10);
    }

    private static void print(List<JsonNode> changes) {
        changes.forEach(change -> System.out.println("handled " + change.get("id").asText()));
    }
}
