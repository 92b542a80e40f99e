package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import support.Expect;
import support.Recorder;

/** What queries return, compared with the same question asked of a list in memory. */
final class Queries {
    /** The documents of the container; `word` is one of five, `price` is missing in each seventh. */
    record Row(int n) {
        String id() {
            return "q" + n;
        }

        String pk() {
            return "p" + n % 12;
        }

        String word() {
            return List.of("apple", "Birne", "ätzend", "日本", "").get(n % 5);
        }

        double price() {
            return n % 40 / 4.0;
        }

        boolean hasPrice() {
            return n % 7 != 0;
        }
    }

    static final List<Row> ROWS = IntStream.range(0, 300).mapToObj(Row::new).toList();
    private static final Comparator<Row> BY_PRICE = Comparator.comparingDouble(Row::price);

    private final Recorder recorder;
    private final Calls calls;

    Queries(Recorder recorder, Calls calls) {
        this.recorder = recorder;
        this.calls = calls;
    }

    static void fill(Calls calls) {
        List<CosmosItemOperation> operations = ROWS.stream().map(row -> CosmosBulkOperations.getCreateItemOperation(
                item(row.id(), row.pk(), "{'n':" + row.n() + ",'word':'" + row.word() + "','even':" + (row.n() % 2 == 0)
                        + (row.hasPrice() ? ",'price':" + row.price() : "") + ",'tags':['t" + row.n() % 3 + "','x'],"
                        + "'deep':{'er':" + row.n() % 10 + "}}"), key(row.pk()))).toList();
        Expect.isTrue(calls.bulk(operations).stream().allMatch(reply -> reply.getResponse().isSuccessStatusCode()), "not filled");
    }

    void run() {
        filters();
        orders();
        aggregates();
        groups();
        options();
    }

    private void filters() {
        rows("SELECT * FROM c", ROWS.stream().map(Row::id));
        rows("SELECT * FROM c WHERE c.pk = 'p3'", ROWS.stream().filter(row -> row.pk().equals("p3")).map(Row::id));
        rows("SELECT * FROM c WHERE c.n >= 100 AND c.even", ROWS.stream().filter(row -> row.n() >= 100 && row.n() % 2 == 0)
                .map(Row::id));
        rows("SELECT * FROM c WHERE c.word IN ('apple', '日本')", ROWS.stream()
                .filter(row -> row.n() % 5 == 0 || row.n() % 5 == 3).map(Row::id));
        rows("SELECT c.id FROM c WHERE NOT IS_DEFINED(c.price)", ROWS.stream().filter(row -> !row.hasPrice()).map(Row::id));
        rows("SELECT c.id, t FROM c JOIN t IN c.tags WHERE t = 't1'", ROWS.stream().filter(row -> row.n() % 3 == 1).map(Row::id));
        rows("SELECT c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 't2') AND STARTSWITH(c.word, 'a')", ROWS.stream()
                .filter(row -> row.n() % 3 == 2 && row.word().startsWith("a")).map(Row::id));
        rows("SELECT c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 't0')", ROWS.stream()
                .filter(row -> row.n() % 3 == 0).map(Row::id));
        rows("SELECT c.id FROM c WHERE c.deep.er BETWEEN 3 AND 4 AND c.word LIKE '%r%'", ROWS.stream()
                .filter(row -> row.n() % 10 >= 3 && row.n() % 10 <= 4 && row.word().contains("r")).map(Row::id));
        recorder.works("queries", "parameters of each type", () -> {
            SqlQuerySpec query = new SqlQuerySpec("SELECT c.id FROM c WHERE c.word = @word AND c.n < @n AND c.even = @even "
                    + "AND ARRAY_CONTAINS(@list, c.deep.er) AND @none = null", new SqlParameter("@word", "日本"),
                    new SqlParameter("@n", 100.5), new SqlParameter("@even", true), new SqlParameter("@list", List.of(3, 8)),
                    new SqlParameter("@none", null));
            same(calls.query(query, new CosmosQueryRequestOptions()).stream().map(Queries::text),
                    ROWS.stream().filter(row -> row.n() % 10 == 8 && row.n() < 100).map(Row::id), false);
        });
        recorder.works("queries", "a query that is no SQL", () -> Suite.error(400, () -> calls.query("SELEC * FROM c")));
    }

    private void orders() {
        ordered("SELECT * FROM c ORDER BY c.n DESC", ROWS.stream().sorted(Comparator.comparingInt(Row::n).reversed()).map(Row::id));
        ordered("SELECT VALUE c.n FROM c WHERE c.n > 50 ORDER BY c.n", numbers(ROWS.stream().map(Row::n).filter(n -> n > 50)));
        ordered("SELECT TOP 17 c.id FROM c ORDER BY c.n", ROWS.stream().limit(17).map(Row::id));
        ordered("SELECT c.id FROM c ORDER BY c.n OFFSET 31 LIMIT 40", ROWS.stream().skip(31).limit(40).map(Row::id));
        ordered("SELECT c.id FROM c ORDER BY c.even DESC, c.n ASC", ROWS.stream()
                .sorted(Comparator.comparing((Row row) -> row.n() % 2).thenComparing(Row::n)).map(Row::id));
        ordered("SELECT VALUE c.price FROM c WHERE IS_DEFINED(c.price) ORDER BY c.price", numbers(ROWS.stream()
                .filter(Row::hasPrice).sorted(BY_PRICE).map(row -> row.price())));
        ordered("SELECT DISTINCT VALUE c.deep.er FROM c ORDER BY c.deep.er DESC", numbers(IntStream.range(0, 10).map(i -> 9 - i).boxed()));
        recorder.works("queries", "SELECT TOP 5 * FROM c", () -> Expect.equal(calls.query("SELECT TOP 5 * FROM c").size(), 5));
        recorder.works("queries", "SELECT * FROM c OFFSET 290 LIMIT 50", () ->
                Expect.equal(calls.query("SELECT * FROM c OFFSET 290 LIMIT 50").size(), 10));
        rows("SELECT DISTINCT VALUE c.word FROM c", Stream.of("apple", "Birne", "ätzend", "日本", ""));
        rows("SELECT DISTINCT c.word, c.even FROM c", Stream.of("apple", "Birne", "ätzend", "日本", "")
                .flatMap(word -> Stream.of("{\"word\":\"" + word + "\",\"even\":false}", "{\"word\":\"" + word + "\",\"even\":true}")));
        recorder.works("queries", "SELECT c.id, c.price FROM c ORDER BY c.price", () -> {
            List<JsonNode> rows = calls.query("SELECT c.id, c.price FROM c ORDER BY c.price");
            Expect.equal(rows.size(), ROWS.size());
            long absent = ROWS.stream().filter(row -> !row.hasPrice()).count();
            Expect.equal(rows.stream().limit(absent).filter(row -> row.has("price")).count(), 0L);
        });
    }

    private void aggregates() {
        List<Row> priced = ROWS.stream().filter(Row::hasPrice).toList();
        value("SELECT VALUE COUNT(1) FROM c", ROWS.size());
        value("SELECT VALUE COUNT(c.price) FROM c", priced.size());
        value("SELECT VALUE SUM(c.price) FROM c", priced.stream().mapToDouble(Row::price).sum());
        value("SELECT VALUE AVG(c.n) FROM c WHERE c.even", 149);
        value("SELECT VALUE MIN(c.n) FROM c WHERE c.pk = 'p7'", 7);
        value("SELECT VALUE MAX(c.price) FROM c", priced.stream().mapToDouble(Row::price).max().orElseThrow());
        recorder.works("queries", "SELECT COUNT(1) AS count, MIN(c.n) AS least, AVG(c.n) AS mean FROM c", () -> Expect.equal(
                calls.query("SELECT COUNT(1) AS count, MIN(c.n) AS least, AVG(c.n) AS mean FROM c").get(0).toString(),
                "{\"count\":300,\"least\":0,\"mean\":149.5}"));
        recorder.notOffered("queries", "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.word FROM c)",
                "clients cannot merge the distinct rows of a subquery (400); count the rows of SELECT DISTINCT in the program",
                () -> Suite.error(400, () -> calls.query("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.word FROM c)")));
        recorder.works("queries", "SELECT VALUE MAX(c.n) FROM c WHERE c.n > 1000: nothing to aggregate", () ->
                Expect.isTrue(calls.query("SELECT VALUE MAX(c.n) FROM c WHERE c.n > 1000").size() <= 1, "several"));
    }

    private void groups() {
        rows("SELECT c.deep.er, COUNT(1) AS count FROM c GROUP BY c.deep.er",
                IntStream.range(0, 10).mapToObj(i -> "{\"er\":" + i + ",\"count\":30}"));
        rows("SELECT VALUE c.even FROM c GROUP BY c.even", Stream.of("false", "true"));
        rows("SELECT c.even, SUM(c.n) AS sum, AVG(c.n) AS mean, MAX(c.word) AS word FROM c GROUP BY c.even", Stream.of(
                "{\"even\":false,\"sum\":22500.0,\"mean\":150.0,\"word\":\"日本\"}",
                "{\"even\":true,\"sum\":22350.0,\"mean\":149.0,\"word\":\"日本\"}"));
    }

    private void options() {
        recorder.works("queries", "setPartitionKey", () -> {
            CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(key("p4"));
            same(calls.query(new SqlQuerySpec("SELECT * FROM c ORDER BY c.n"), options).stream().map(Queries::text),
                    ROWS.stream().filter(row -> row.pk().equals("p4")).map(Row::id), true);
            Expect.equal(calls.query(new SqlQuerySpec("SELECT VALUE COUNT(1) FROM c"), options).get(0).asInt(), 25);
        });
        recorder.works("queries", "setMaxDegreeOfParallelism, setMaxBufferedItemCount", () -> {
            CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setMaxDegreeOfParallelism(-1).setMaxBufferedItemCount(20);
            same(calls.query(new SqlQuerySpec("SELECT * FROM c ORDER BY c.n"), options).stream().map(Queries::text),
                    ROWS.stream().map(Row::id), true);
        });
        recorder.works("queries", "query metrics, index metrics, scans", () -> {
            CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setQueryMetricsEnabled(true)
                    .setIndexMetricsEnabled(true).setScanInQueryEnabled(true).setResponseContinuationTokenLimitInKb(2);
            var page = calls.page(new SqlQuerySpec("SELECT * FROM c WHERE c.n > 7"), options, null, 10);
            Expect.equal(page.getResults().size(), 10);
            Expect.isTrue(page.getRequestCharge() > 0, "no charge");
            Expect.isTrue(page.getCosmosDiagnostics().toString().contains("retrievedDocumentCount"), "no query metrics");
            Expect.isTrue(page.getCosmosDiagnostics().toString().contains("indexUtilizationInfo"), "no index metrics");
        });
    }

    private void value(String query, double expected) {
        recorder.works("queries", query, () -> {
            List<JsonNode> rows = calls.query(query);
            Expect.equal(rows.stream().map(JsonNode::asDouble).toList(), List.of(expected));
        });
    }

    private void rows(String query, Stream<String> expected) {
        List<String> wanted = expected.toList();
        recorder.works("queries", query, () -> same(calls.query(query).stream().map(Queries::text), wanted.stream(), false));
    }

    private void ordered(String query, Stream<String> expected) {
        List<String> wanted = expected.toList();
        recorder.works("queries", query, () -> same(calls.query(query).stream().map(Queries::text), wanted.stream(), true));
    }

    static void same(Stream<String> actual, Stream<String> expected, boolean inOrder) {
        List<String> found = (inOrder ? actual : actual.sorted()).toList();
        List<String> wanted = (inOrder ? expected : expected.sorted()).toList();
        List<String> missing = new ArrayList<>(wanted);
        found.forEach(missing::remove);
        List<String> more = new ArrayList<>(found);
        wanted.forEach(more::remove);
        Expect.isTrue(found.equals(wanted), found.size() + " rows in place of " + wanted.size() + ", missing " + missing
                + ", too many " + more + (missing.isEmpty() && more.isEmpty() ? ", in the order " + found : ""));
    }

    private static Stream<String> numbers(Stream<? extends Number> numbers) {
        return numbers.map(number -> number.doubleValue() == number.intValue() ? "" + number.intValue() : "" + number);
    }

    /** Items by their ids, other rows as they are. */
    static String text(JsonNode row) {
        if (row.isNumber()) {
            return numbers(Stream.of(row.numberValue())).findFirst().orElseThrow();
        }
        return row.has("id") ? row.get("id").asText() : row.isTextual() ? row.asText() : row.toString();
    }
}
