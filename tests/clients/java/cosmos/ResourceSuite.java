package cosmos;

import support.Recorder;

/** Databases, containers, throughput, server-side code, users and permissions. */
public final class ResourceSuite {
    private ResourceSuite() {}

    public static void main(String[] arguments) {
        try (Suite suite = new Suite()) {
            new Resources(Suite.SYNC, suite).run();
            new Scripts(Suite.SYNC, suite).run();
            new Users(Suite.SYNC, suite).run();
        }
        Recorder.exit();
    }
}
