package support;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.stream.Collectors;

/**
 * Runs the operations of a client, and writes a line of JSON for each to the file OCTAVO_RESULTS.
 *
 * <p>An operation whose check fails is printed and has no line; the next one runs all the same, and {@link #exit} says
 * so in the end.
 */
public final class Recorder {
    /** What an operation must do; it throws if it does something else. */
    public interface Check {
        void run() throws Exception;
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static int failures;
    private static int operations;

    private final String client;
    private final String version;
    private final String api;
    private final String mode;

    /** `group` and `artifact`: those of the client's Maven package, which knows its version. */
    public Recorder(String group, String artifact, String api, String mode) {
        this.client = artifact;
        this.version = versionOf(group, artifact);
        this.api = api;
        this.mode = mode;
    }

    private Recorder(Recorder other, String mode) {
        client = other.client;
        version = other.version;
        api = other.api;
        this.mode = mode;
    }

    /** The same client in another mode. */
    public Recorder in(String otherMode) {
        return new Recorder(this, otherMode);
    }

    public String mode() {
        return mode;
    }

    /** `check` shows that the operation does what the client's documentation promises. */
    public void works(String area, String operation, Check check) {
        record(area, operation, "works", "", check);
    }

    /** `check` shows the difference that `note` describes. */
    public void differs(String area, String operation, String note, Check check) {
        record(area, operation, "differs", note, check);
    }

    /** `check` shows the refusal that `note` gives the reason of. */
    public void notOffered(String area, String operation, String note, Check check) {
        record(area, operation, "not_offered", note, check);
    }

    /** Ends the program: with 1 if a check has failed. */
    public static void exit() {
        System.out.println(operations + " operations, " + failures + " failed");
        System.exit(failures == 0 ? 0 : 1);
    }

    private synchronized void record(String area, String operation, String result, String note, Check check) {
        String only = System.getenv("OCTAVO_ONLY");
        if (only != null && !(area + ": " + operation).contains(only)) {
            return;
        }
        operations++;
        long began = System.nanoTime();
        try {
            check.run();
        } catch (Throwable error) {
            failures++;
            System.out.println("FAILED " + client + " (" + mode + ") " + area + ": " + operation + ": " + explain(error));
            if (System.getenv("OCTAVO_TRACES") != null) {
                error.printStackTrace(System.out);
            }
            return;
        }
        if (System.getenv("OCTAVO_TIMES") != null) {
            System.out.printf("%6d ms  %s %s: %s%n", (System.nanoTime() - began) / 1_000_000, mode, area, operation);
        }
        Map<String, String> line = new LinkedHashMap<>();
        line.put("client", client);
        line.put("language", "Java");
        line.put("version", version);
        line.put("api", api);
        line.put("mode", mode);
        line.put("area", area);
        line.put("operation", operation);
        line.put("result", result);
        line.put("note", note);
        append(line);
    }

    private static void append(Map<String, String> line) {
        String file = System.getenv("OCTAVO_RESULTS");
        if (file == null) {
            return;
        }
        try {
            String text = JSON.writeValueAsString(line) + "\n";
            Files.writeString(Path.of(file), text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new IllegalStateException("The result cannot be written to " + file + ".", error);
        }
    }

    private static String explain(Throwable error) {
        String text = Objects.toString(error.getMessage(), error.toString())
                + Arrays.stream(error.getSuppressed()).map(one -> "; " + one.getMessage()).collect(Collectors.joining());
        String first = text.length() > 600 ? text.substring(0, 600) + "…" : text;
        return error instanceof AssertionError ? first : error.getClass().getSimpleName() + ": " + first;
    }

    private static String versionOf(String group, String artifact) {
        String resource = "/META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        try (InputStream stream = Recorder.class.getResourceAsStream(resource)) {
            Properties properties = new Properties();
            properties.load(Objects.requireNonNull(stream, resource));
            return properties.getProperty("version");
        } catch (IOException error) {
            throw new IllegalStateException("No version in " + resource + ".", error);
        }
    }
}
