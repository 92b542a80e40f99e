package cosmos;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import support.Expect;
import support.Recorder;

/** Pages of queries, each resumed by a client of its own from the continuation of the page before. */
final class Pages {
    private final Recorder recorder;
    private final Suite suite;
    private final CosmosAsyncContainer container;

    Pages(Recorder recorder, Suite suite, CosmosAsyncContainer container) {
        this.recorder = recorder;
        this.suite = suite;
        this.container = container;
    }

    void run() {
        List<Queries.Row> rows = Queries.ROWS;
        resumed("SELECT * FROM c", rows.stream().map(Queries.Row::id), false);
        resumed("SELECT * FROM c WHERE c.pk = 'p5'", rows.stream().filter(row -> row.pk().equals("p5")).map(Queries.Row::id), false);
        resumed("SELECT c.id FROM c WHERE c.even ORDER BY c.n DESC", rows.stream().filter(row -> row.n() % 2 == 0)
                .sorted(Comparator.comparingInt(Queries.Row::n).reversed()).map(Queries.Row::id), true);
        resumed("SELECT c.id FROM c ORDER BY c.word", rows.stream().map(Queries.Row::id), false);
        resumed("SELECT c.id FROM c ORDER BY c.even, c.deep.er DESC", rows.stream().map(Queries.Row::id), false);
        resumed("SELECT c.id FROM c WHERE IS_DEFINED(c.price) ORDER BY c.price", rows.stream().filter(Queries.Row::hasPrice)
                .map(Queries.Row::id), false);
        resumed("SELECT TOP 50 c.id FROM c ORDER BY c.n", rows.stream().limit(50).map(Queries.Row::id), true);
        resumed("SELECT c.id FROM c ORDER BY c.n OFFSET 20 LIMIT 60", rows.stream().skip(20).limit(60).map(Queries.Row::id), true);
        resumed("SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n", rows.stream().map(row -> "" + row.n()), true);
        resumed("SELECT c.id, t FROM c JOIN t IN c.tags WHERE t = 'x'", rows.stream().map(Queries.Row::id), false);
        recorder.works("pages", "byPage with a page size", () -> {
            List<Integer> sizes = container.queryItems("SELECT * FROM c WHERE c.pk = 'p1'", JsonNode.class).byPage(10)
                    .map(page -> page.getResults().size()).collectList().block();
            Expect.equal(sizes, List.of(10, 10, 5));
        });
        recorder.works("pages", "a query for each feed range", () -> {
            List<FeedRange> ranges = container.getFeedRanges().block();
            Expect.equal(ranges.size(), 2);
            List<JsonNode> found = ranges.stream().flatMap(range -> Calls.of(container).query(
                    new SqlQuerySpec("SELECT * FROM c ORDER BY c.n"),
                    new CosmosQueryRequestOptions().setFeedRange(FeedRange.fromString(range.toString()))).stream()).toList();
            Queries.same(found.stream().map(Queries::text), rows.stream().map(Queries.Row::id), false);
        });
        recorder.works("pages", "a split between pages", this::split);
    }

    private void resumed(String query, Stream<String> expected, boolean inOrder) {
        List<String> wanted = expected.toList();
        recorder.works("pages", query, () -> {
            List<String> found = new ArrayList<>();
            String continuation = null;
            do {
                try (CosmosAsyncClient client = Suite.builder().connectionSharingAcrossClientsEnabled(true).buildAsyncClient()) {
                    FeedResponse<JsonNode> page = page(client, query, continuation);
                    page.getResults().forEach(row -> found.add(Queries.text(row)));
                    Expect.isTrue(page.getContinuationToken() == null || !page.getContinuationToken().equals(continuation), "stuck");
                    continuation = page.getContinuationToken();
                }
            } while (continuation != null);
            Queries.same(found.stream(), wanted.stream(), inOrder);
        });
    }

    private FeedResponse<JsonNode> page(CosmosAsyncClient client, String query, String continuation) {
        Calls calls = Calls.of(client.getDatabase(suite.database.getId()).getContainer(container.getId()));
        return calls.page(new SqlQuerySpec(query), new CosmosQueryRequestOptions(), continuation, 60);
    }

    /** The client learns from 410 that its ranges are gone. */
    private void split() throws InterruptedException {
        Calls calls = Calls.of(container);
        SqlQuerySpec query = new SqlQuerySpec("SELECT c.id FROM c ORDER BY c.n");
        FeedResponse<JsonNode> first = calls.page(query, new CosmosQueryRequestOptions(), null, 50);
        FeedResponse<JsonNode> plain = calls.page(new SqlQuerySpec("SELECT c.id FROM c"), new CosmosQueryRequestOptions(), null, 50);
        container.replaceThroughput(ThroughputProperties.createManualThroughput(40_000)).block();
        for (int tries = 0; tries < 200; tries++) {
            try (CosmosAsyncClient client = Suite.builder().buildAsyncClient()) {
                if (client.getDatabase(suite.database.getId()).getContainer(container.getId()).getFeedRanges().block().size() == 4) {
                    break;
                }
            }
            Thread.sleep(100);
        }
        List<String> rest = new ArrayList<>(first.getResults().stream().map(Queries::text).toList());
        container.queryItems(query, JsonNode.class).byPage(first.getContinuationToken(), 50).toIterable()
                .forEach(page -> page.getResults().forEach(row -> rest.add(Queries.text(row))));
        Queries.same(rest.stream(), IntStream.range(0, 300).mapToObj(i -> "q" + i), true);
        List<String> others = new ArrayList<>(plain.getResults().stream().map(Queries::text).toList());
        container.queryItems("SELECT c.id FROM c", JsonNode.class).byPage(plain.getContinuationToken(), 50).toIterable()
                .forEach(page -> page.getResults().forEach(row -> others.add(Queries.text(row))));
        Queries.same(others.stream(), IntStream.range(0, 300).mapToObj(i -> "q" + i), false);
        Expect.equal(container.getFeedRanges().block().size(), 4);
    }
}
