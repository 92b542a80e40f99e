package cosmos;

import support.Recorder;

/** Databases, containers, throughput, server-side code, users and permissions, groups that control throughput. */
public final class ResourceSuite {
    private ResourceSuite() {}

    public static void main(String[] arguments) {
        try (Suite suite = new Suite()) {
            new Resources(Suite.SYNC, suite).run();
            new Scripts(Suite.SYNC, suite).run();
            new Users(Suite.SYNC, suite).run();
            new ThroughputControl(Suite.ASYNC, suite).run();
        }
        Recorder.exit();
    }
}
