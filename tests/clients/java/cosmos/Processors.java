package cosmos;

import static cosmos.Json.item;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorState;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.ThroughputProperties;
import java.io.BufferedReader;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import support.Expect;
import support.Recorder;

/** Change feed processors, which share the ranges of a container by leases. */
final class Processors {
    private static final int COUNT = 40;

    private final Recorder recorder;
    private final Suite suite;

    Processors(Recorder recorder, Suite suite) {
        this.recorder = recorder;
        this.suite = suite;
    }

    void run() {
        recorder.works("processors", "two workers, of which one is killed", this::twoWorkers);
        recorder.works("processors", "handleLatestVersionChanges", this::latestVersions);
        recorder.works("processors", "handleAllVersionsAndDeletesChanges", this::allVersions);
        recorder.works("processors", "a split while a worker runs", this::split);
    }

    private void twoWorkers() throws Exception {
        CosmosAsyncContainer feed = suite.newWideContainer();
        CosmosAsyncContainer leases = leases();
        Set<String> byChild = ConcurrentHashMap.newKeySet();
        Set<String> here = ConcurrentHashMap.newKeySet();
        Process child = startChild(feed, leases, byChild);
        ChangeFeedProcessor processor = Worker.processor(suite.database, feed.getId(), leases.getId(), "parent",
                changes -> changes.forEach(change -> here.add(change.get("id").asText())));
        try {
            processor.start().block();
            eventually("both workers have a lease", () -> owners(processor).equals(Set.of("child", "parent")));
            write(feed, "before");
            eventually("all items are handled", () -> {
                Set<String> both = ConcurrentHashMap.newKeySet();
                both.addAll(byChild);
                both.addAll(here);
                return both.size() == COUNT;
            });
            Expect.isTrue(!byChild.isEmpty() && !here.isEmpty(), "one worker got everything");
            child.destroyForcibly().waitFor();
            write(feed, "after");
            eventually("the other worker takes over", () ->
                    here.stream().filter(id -> id.startsWith("after")).count() == COUNT);
            Expect.equal(processor.getEstimatedLag().block().values().stream().mapToInt(Integer::intValue).sum(), 0);
        } finally {
            child.destroyForcibly();
            processor.stop().block();
        }
    }

    private void latestVersions() throws Exception {
        CosmosAsyncContainer feed = suite.newContainer();
        Set<String> handled = ConcurrentHashMap.newKeySet();
        ChangeFeedProcessor processor = builder(feed).handleLatestVersionChanges(changes ->
                changes.forEach(change -> handled.add(change.getCurrent().get("id").asText()))).buildChangeFeedProcessor();
        processor.start().block();
        write(feed, "l");
        eventually("all items are handled", () -> handled.size() == COUNT);
        processor.stop().block();
        write(feed, "m");
        processor.start().block();
        eventually("it continues where it stopped", () -> handled.size() == 2 * COUNT);
        processor.stop().block();
    }

    private void allVersions() throws Exception {
        CosmosContainerProperties properties = new CosmosContainerProperties("v-" + UUID.randomUUID(), "/pk");
        properties.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
        CosmosAsyncContainer feed = suite.newContainer(properties);
        Queue<ChangeFeedProcessorItem> handled = new ConcurrentLinkedQueue<>();
        ChangeFeedProcessor processor = builder(feed).options(Worker.options().setStartFromBeginning(false))
                .handleAllVersionsAndDeletesChanges((List<ChangeFeedProcessorItem> changes) -> handled.addAll(changes))
                .buildChangeFeedProcessor();
        processor.start().block();
        eventually("it has a lease", () -> owners(processor).equals(Set.of("only")));
        Thread.sleep(500);
        Calls calls = Calls.of(feed);
        calls.create(item("v", "a"));
        calls.upsert(item("v", "a", "{'n':2}"), Json.key("a"), new CosmosItemRequestOptions());
        calls.delete("v", Json.key("a"), new CosmosItemRequestOptions());
        eventually("all versions are handled", () -> handled.size() == 3);
        Expect.equal(handled.stream().map(change -> change.getChangeFeedMetaData().getOperationType().toString()).toList(),
                List.of("CREATE", "REPLACE", "DELETE"));
        processor.stop().block();
    }

    private void split() throws Exception {
        CosmosAsyncContainer feed = suite.newContainer();
        Set<String> handled = ConcurrentHashMap.newKeySet();
        ChangeFeedProcessor processor = builder(feed).handleChanges(changes ->
                changes.forEach(change -> handled.add(change.get("id").asText()))).buildChangeFeedProcessor();
        processor.start().block();
        write(feed, "before");
        eventually("all items are handled", () -> handled.size() == COUNT);
        feed.replaceThroughput(ThroughputProperties.createManualThroughput(20_000)).block();
        eventually("there is a lease for each range", () -> leasesOf(processor) == 2);
        write(feed, "after");
        eventually("the items of both ranges are handled", () -> handled.size() == 2 * COUNT);
        processor.stop().block();
    }

    private ChangeFeedProcessorBuilder builder(CosmosAsyncContainer feed) {
        return new ChangeFeedProcessorBuilder().hostName("only").feedContainer(feed).leaseContainer(leases())
                .options(Worker.options());
    }

    private CosmosAsyncContainer leases() {
        return suite.newContainer(new CosmosContainerProperties("leases-" + UUID.randomUUID(), "/id"));
    }

    private Process startChild(CosmosAsyncContainer feed, CosmosAsyncContainer leases, Set<String> handled) throws Exception {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java"));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Worker.class.getName(), suite.database.getId(),
                feed.getId(), leases.getId()));
        Process child = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Runtime.getRuntime().addShutdownHook(new Thread(child::destroyForcibly));
        Thread reader = new Thread(() -> {
            BufferedReader lines = child.inputReader();
            lines.lines().filter(line -> line.startsWith("handled ")).forEach(line -> handled.add(line.substring(8)));
        });
        reader.setDaemon(true);
        reader.start();
        return child;
    }

    /** 0 while the lease of a range that was split is being replaced. */
    private static int leasesOf(ChangeFeedProcessor processor) {
        try {
            return processor.getCurrentState().block().size();
        } catch (CosmosException error) {
            return 0;
        }
    }

    private static Set<String> owners(ChangeFeedProcessor processor) {
        Set<String> owners = ConcurrentHashMap.newKeySet();
        for (ChangeFeedProcessorState state : processor.getCurrentState().block()) {
            owners.add(String.valueOf(state.getHostName()));
        }
        return owners;
    }

    private static void write(CosmosAsyncContainer container, String prefix) {
        for (int i = 0; i < COUNT; i++) {
            container.createItem(item(prefix + i, "p" + i)).block();
        }
    }

    private static void eventually(String what, BooleanSupplier condition) throws InterruptedException {
        for (int tries = 0; tries < 300; tries++) {
            if (condition.getAsBoolean()) {
                return;
            }
            Thread.sleep(100);
        }
        throw new AssertionError("not within 30 seconds: " + what);
    }
}
