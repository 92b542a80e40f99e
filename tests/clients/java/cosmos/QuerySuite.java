package cosmos;

import com.azure.cosmos.CosmosAsyncContainer;
import support.Recorder;

/** Queries over one partition key and over many, and their pages. */
public final class QuerySuite {
    private QuerySuite() {}

    public static void main(String[] arguments) {
        try (Suite suite = new Suite()) {
            CosmosAsyncContainer container = suite.newWideContainer();
            Queries.fill(Calls.of(container));
            new Queries(Suite.ASYNC, Calls.of(container)).run();
            new Queries(Suite.SYNC, Calls.of(suite.sync(container))).run();
            new Pages(Suite.ASYNC, suite, container).run();
        }
        Recorder.exit();
    }
}
