package support;

import java.util.Objects;

/** Assertions whose messages have both values. */
public final class Expect {
    private Expect() {}

    public static void equal(Object actual, Object expected) {
        isTrue(Objects.equals(actual, expected), "expected " + expected + ", got " + actual);
    }

    public static void isTrue(boolean condition, String otherwise) {
        if (!condition) {
            throw new AssertionError(otherwise);
        }
    }

    /** The error of type `type` that `check` ends with. */
    public static <E extends Throwable> E error(Class<E> type, Recorder.Check check) {
        try {
            check.run();
        } catch (Throwable error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                if (type.isInstance(cause)) {
                    return type.cast(cause);
                }
            }
            throw new AssertionError("another error: " + error, error);
        }
        throw new AssertionError("no " + type.getSimpleName());
    }
}
