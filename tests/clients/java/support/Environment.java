package support;

import java.util.Objects;

/** Where the server is, as the runner says it. */
public final class Environment {
    public static final String COUCH_URL = "OCTAVO_COUCH_URL";
    public static final String USER = "OCTAVO_USER";
    public static final String PASSWORD = "OCTAVO_PASSWORD";
    public static final String COSMOS_URL = "OCTAVO_COSMOS_URL";
    public static final String COSMOS_HTTPS_URL = "OCTAVO_COSMOS_HTTPS_URL";
    public static final String COSMOS_KEY = "OCTAVO_COSMOS_KEY";

    private Environment() {}

    public static String get(String name) {
        return Objects.requireNonNull(System.getenv(name), name + " is not set");
    }

    /** The larger amount of work; the short one takes less than a minute. */
    public static boolean isFull() {
        return "full".equals(System.getenv("OCTAVO_DOSE"));
    }
}
