package cosmos;

import support.Recorder;

/** Change feeds: read page by page, and by processors that share leases. */
public final class FeedSuite {
    private FeedSuite() {}

    public static void main(String[] arguments) throws Exception {
        try (Suite suite = new Suite()) {
            var container = suite.newWideContainer();
            new Feeds(Suite.ASYNC, suite, Calls.of(container), container.getFeedRanges().block()).run();
            var other = suite.newWideContainer();
            new Feeds(Suite.SYNC, suite, Calls.of(suite.sync(other)), suite.sync(other).getFeedRanges()).run();
            new Processors(Suite.ASYNC, suite).run();
        }
        Recorder.exit();
    }
}
