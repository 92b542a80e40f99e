package cosmos;

import com.azure.cosmos.CosmosAsyncContainer;
import support.Recorder;

/** Items: each call, each kind of key, conditions, batches, bulk and consistency levels. */
public final class ItemSuite {
    private ItemSuite() {}

    public static void main(String[] arguments) {
        try (Suite suite = new Suite()) {
            CosmosAsyncContainer container = suite.newWideContainer();
            new Items(Suite.ASYNC, Calls.of(container)).run();
            new Items(Suite.SYNC, Calls.of(suite.sync(container))).run();
            new Batches(Suite.ASYNC, Calls.of(container)).run();
            new Batches(Suite.SYNC, Calls.of(suite.sync(container))).run();
            new Keys(suite).run();
            new Connections(suite, container).run();
        }
        Recorder.exit();
    }
}
