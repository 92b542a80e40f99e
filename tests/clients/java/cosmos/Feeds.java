package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import support.Expect;
import support.Recorder;

/** The pull model: pages of changes, each from the continuation of the page before. */
final class Feeds {
    private static final int COUNT = 60;
    private static final FeedRange ALL = FeedRange.forFullRange();

    private final Recorder recorder;
    private final Suite suite;
    private final Calls calls;
    private final List<FeedRange> ranges;

    Feeds(Recorder recorder, Suite suite, Calls calls, List<FeedRange> ranges) {
        this.recorder = recorder;
        this.suite = suite;
        this.calls = calls;
        this.ranges = ranges;
    }

    void run() throws InterruptedException {
        write("first", COUNT);
        Thread.sleep(1100);
        Instant between = Instant.now();
        Thread.sleep(1100);
        CosmosChangeFeedRequestOptions fromNow = CosmosChangeFeedRequestOptions.createForProcessingFromNow(ALL);
        String now = calls.changes(fromNow).getContinuationToken();
        write("second", COUNT);

        recorder.works("feeds", "createForProcessingFromBeginning, page by page", () -> {
            List<JsonNode> changes = drain(CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(ALL), 7);
            Expect.equal(changes.size(), 2 * COUNT);
            Expect.isTrue(changes.stream().allMatch(change -> change.has("_lsn") && change.has("_etag")), "no _lsn");
        });
        recorder.works("feeds", "createForProcessingFromNow, createForProcessingFromContinuation", () -> Expect.equal(
                ids(drain(CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(now), 100)), ids("second", COUNT)));
        recorder.works("feeds", "createForProcessingFromPointInTime", () -> Expect.equal(
                ids(drain(CosmosChangeFeedRequestOptions.createForProcessingFromPointInTime(between, ALL), 100)),
                ids("second", COUNT)));
        recorder.works("feeds", "a feed for each of getFeedRanges", () -> {
            List<JsonNode> changes = new ArrayList<>();
            for (FeedRange range : ranges) {
                List<JsonNode> part = drain(CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(range), 100);
                Expect.isTrue(!part.isEmpty(), "an empty range");
                changes.addAll(part);
            }
            Expect.equal(ranges.size(), 2);
            Expect.equal(changes.size(), 2 * COUNT);
        });
        recorder.works("feeds", "FeedRange.forLogicalPartition", () -> {
            FeedRange one = FeedRange.forLogicalPartition(key("f1"));
            Expect.equal(drain(CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(one), 3).size(), 2 * COUNT / 10);
        });
        recorder.works("feeds", "an item appears once, in its newest version", () -> {
            String start = lastToken(CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(ALL));
            for (int i = 0; i < 5; i++) {
                calls.upsert(item("changed", "f1", "{'n':" + i + "}"), key("f1"), new CosmosItemRequestOptions());
            }
            List<JsonNode> changes = drain(CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(start), 100);
            Expect.equal(changes.stream().map(change -> change.get("n").asInt()).toList(), List.of(4));
        });
        allVersions();
    }

    private void allVersions() {
        recorder.works("feeds", "allVersionsAndDeletes", () -> {
            CosmosContainerProperties properties = new CosmosContainerProperties("v-" + UUID.randomUUID(), "/pk");
            properties.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
            Calls versions = Calls.of(suite.newContainer(properties));
            String start = versions.changes(CosmosChangeFeedRequestOptions.createForProcessingFromNow(ALL).allVersionsAndDeletes())
                    .getContinuationToken();
            versions.create(item("v", "a", "{'n':1}"));
            versions.replace(item("v", "a", "{'n':2}"), "v", key("a"), new CosmosItemRequestOptions());
            versions.delete("v", key("a"), new CosmosItemRequestOptions());
            List<JsonNode> changes = new ArrayList<>();
            String token = start;
            for (FeedResponse<JsonNode> page; ; token = page.getContinuationToken()) {
                page = versions.changes(CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(token).allVersionsAndDeletes());
                if (page.getResults().isEmpty()) {
                    break;
                }
                changes.addAll(page.getResults());
            }
            Expect.equal(changes.stream().map(change -> change.at("/metadata/operationType").asText()).toList(),
                    List.of("create", "replace", "delete"));
            Expect.equal(changes.get(1).at("/current/n").asInt(), 2);
            Expect.equal(changes.get(2).at("/metadata/id").asText() + changes.get(2).at("/metadata/partitionKey/pk").asText(), "va");
            Expect.isTrue(changes.stream().allMatch(change -> change.at("/metadata/lsn").asLong() > 0
                    && change.at("/metadata/crts").asLong() > 0), "no lsn or crts");
        });
    }

    private void write(String prefix, int count) {
        for (int i = 0; i < count; i++) {
            calls.create(item(prefix + i, "f" + i % 10));
        }
    }

    /** All changes from `first` on: each page is asked for by the continuation of the page before. */
    private List<JsonNode> drain(CosmosChangeFeedRequestOptions first, int size) {
        List<JsonNode> changes = new ArrayList<>();
        follow(first.setMaxItemCount(size), changes);
        return changes;
    }

    /** The continuation after the last change. */
    private String lastToken(CosmosChangeFeedRequestOptions first) {
        return follow(first, new ArrayList<>());
    }

    private String follow(CosmosChangeFeedRequestOptions first, List<JsonNode> changes) {
        int size = first.getMaxItemCount();
        CosmosChangeFeedRequestOptions options = first;
        while (true) {
            FeedResponse<JsonNode> page = calls.changes(options);
            Expect.isTrue(size <= 0 || page.getResults().size() <= size, "a page of " + page.getResults().size());
            changes.addAll(page.getResults());
            String token = page.getContinuationToken();
            if (page.getResults().isEmpty()) {
                return token;
            }
            options = CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(token);
            if (size > 0) {
                options.setMaxItemCount(size);
            }
        }
    }

    private static List<String> ids(List<JsonNode> changes) {
        return Json.ids(changes);
    }

    private static List<String> ids(String prefix, int count) {
        return IntStream.range(0, count).mapToObj(i -> prefix + i).sorted().toList();
    }
}
