package couch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.MalformedURLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.ektorp.BulkDeleteDocument;
import org.ektorp.ComplexKey;
import org.ektorp.CouchDbConnector;
import org.ektorp.CouchDbInstance;
import org.ektorp.DbAccessException;
import org.ektorp.DocumentNotFoundException;
import org.ektorp.Options;
import org.ektorp.Page;
import org.ektorp.PageRequest;
import org.ektorp.UpdateConflictException;
import org.ektorp.ViewQuery;
import org.ektorp.changes.ChangesCommand;
import org.ektorp.changes.ChangesFeed;
import org.ektorp.http.StdHttpClient;
import org.ektorp.impl.StdCouchDbInstance;
import org.ektorp.support.DesignDocument;
import support.Environment;
import support.Expect;
import support.Recorder;

/** Ektorp: documents, bulk requests, views, pages and changes. */
public final class EktorpSuite {
    private final Recorder recorder = new Recorder("org.ektorp", "org.ektorp", "couch", "sync");
    private final ObjectMapper json = new ObjectMapper();
    private final CouchDbInstance server;
    private final CouchDbConnector db;

    private EktorpSuite() throws MalformedURLException {
        server = new StdCouchDbInstance(new StdHttpClient.Builder().url(Environment.get(Environment.COUCH_URL))
                .username(Environment.get(Environment.USER)).password(Environment.get(Environment.PASSWORD)).build());
        db = server.createConnector("ektorp-" + UUID.randomUUID(), true);
    }

    public static void main(String[] arguments) throws MalformedURLException {
        EktorpSuite suite = new EktorpSuite();
        suite.databases();
        suite.documents();
        suite.bulk();
        suite.views();
        suite.changes();
        suite.server.deleteDatabase(suite.db.getDatabaseName());
        Recorder.exit();
    }

    private void databases() {
        recorder.works("databases", "getAllDatabases, createDatabaseIfNotExists, checkIfDbExists", () -> {
            db.createDatabaseIfNotExists();
            Expect.isTrue(server.getAllDatabases().contains(db.getDatabaseName()), "not listed");
            Expect.isTrue(server.checkIfDbExists(db.getDatabaseName()), "does not exist");
        });
        recorder.notOffered("databases", "getDbInfo", "Ektorp reads purge_seq as a number, as CouchDB 1 had it; here, as in CouchDB 3, "
                + "it is a text", () -> Expect.error(DbAccessException.class, db::getDbInfo));
        recorder.works("databases", "getSecurity, updateSecurity, getRevisionLimit, setRevisionLimit, compact", () -> {
            db.updateSecurity(db.getSecurity());
            db.setRevisionLimit(500);
            Expect.equal(db.getRevisionLimit(), 500);
            db.compact();
        });
    }

    private void documents() {
        recorder.works("documents", "create, get, update, delete, contains", () -> {
            ObjectNode document = json.createObjectNode().put("_id", "a b/ä").put("n", 1);
            db.create(document);
            Expect.isTrue(document.has("_rev") && db.contains("a b/ä"), "not created");
            Map<String, Object> read = map(db.get(JsonNode.class, "a b/ä"));
            Expect.equal(read.get("n"), 1);
            read.put("n", 2);
            db.update(read);
            Expect.error(UpdateConflictException.class, () -> db.update(document));
            Expect.equal(db.get(JsonNode.class, "a b/ä").get("n").asInt(), 2);
            Expect.equal(db.getRevisions("a b/ä").size(), 2);
            db.delete("a b/ä", db.getCurrentRevision("a b/ä"));
            Expect.error(DocumentNotFoundException.class, () -> db.get(JsonNode.class, "a b/ä"));
        });
        recorder.works("documents", "get with options, find, copy", () -> {
            Map<String, Object> document = map(json.createObjectNode().put("_id", "options").put("n", 1));
            db.create(document);
            Expect.isTrue(db.get(JsonNode.class, "options", new Options().includeRevisions().includeConflicts()).has("_revisions"),
                    "no revisions");
            Expect.equal(db.find(JsonNode.class, "missing"), null);
            db.copy("options", "copied");
            Expect.equal(db.get(JsonNode.class, "copied").get("n").asInt(), 1);
        });
    }

    private void bulk() {
        recorder.works("bulk", "executeBulk, getAllDocIds, deletions", () -> {
            List<Object> documents = new ArrayList<>(IntStream.range(0, 50)
                    .mapToObj(i -> map(json.createObjectNode().put("_id", String.format("bulk%02d", i)).put("n", i))).toList());
            Expect.equal(db.executeBulk(documents).size(), 0);
            Expect.equal(db.getAllDocIds().stream().filter(id -> id.startsWith("bulk")).count(), 50L);
            JsonNode first = db.get(JsonNode.class, "bulk00");
            Expect.equal(db.executeBulk(List.of(BulkDeleteDocument.of(first))).size(), 0);
            Expect.isTrue(!db.contains("bulk00"), "not deleted");
            db.create(map(json.createObjectNode().put("_id", "bulk00").put("n", 0)));
        });
    }

    private void views() {
        recorder.works("views", "queryView: keys, ranges, reduce, include_docs; queryForPage", () -> {
            DesignDocument design = new DesignDocument("_design/d");
            design.addView("by_n", new DesignDocument.View("function (doc) { if (doc.n >= 0) emit(doc.n, doc.n); }", "_sum"));
            design.addView("pairs", new DesignDocument.View("function (doc) { emit([doc.n % 2, doc.n], null); }"));
            db.create(design);
            ViewQuery query = new ViewQuery().designDocId("_design/d").viewName("by_n");
            Expect.equal(db.queryView(query.reduce(true).startKey(40).endKey(49)).getRows().get(0).getValueAsInt(), 445);
            Expect.equal(db.queryView(new ViewQuery().designDocId("_design/d").viewName("by_n").reduce(false).keys(List.of(3, 5))
                    .includeDocs(true)).getRows().size(), 2);
            Expect.equal(db.queryView(new ViewQuery().designDocId("_design/d").viewName("pairs").startKey(ComplexKey.of(1, 45))
                    .endKey(ComplexKey.of(1, ComplexKey.emptyObject()))).getRows().size(), 3);
            ViewQuery all = new ViewQuery().designDocId("_design/d").viewName("by_n").reduce(false).startKey(2).includeDocs(true);
            PageRequest request = PageRequest.firstPage(20);
            int rows = 0;
            while (true) {
                Page<JsonNode> page = db.queryForPage(all, request, JsonNode.class);
                rows += page.size();
                if (!page.isHasNext()) {
                    break;
                }
                request = page.getNextPageRequest();
            }
            Expect.equal(rows, 48);
        });
    }

    private void changes() {
        recorder.works("changes", "changes, changesFeed", () -> {
            int count = db.changes(new ChangesCommand.Builder().build()).size();
            Expect.isTrue(count > 50, count + " changes");
            ChangesFeed feed = db.changesFeed(new ChangesCommand.Builder().since("0").build());
            db.create(map(json.createObjectNode().put("_id", "live")));
            String id;
            do {
                id = feed.next(10, TimeUnit.SECONDS).getId();
            } while (!id.equals("live"));
            feed.cancel();
        });
    }

    @SuppressWarnings("unchecked")
    private Map<String, Object> map(JsonNode document) {
        return json.convertValue(document, Map.class);
    }
}
