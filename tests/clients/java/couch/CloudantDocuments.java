package couch;

import com.ibm.cloud.cloudant.features.ChangesFollower;
import com.ibm.cloud.cloudant.v1.Cloudant;
import com.ibm.cloud.cloudant.v1.model.*;
import com.ibm.cloud.sdk.core.service.exception.ServiceResponseException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import support.Expect;
import support.Recorder;

/** Databases, documents, bulk requests, listings and changes. */
final class CloudantDocuments {
    private final Recorder recorder;
    private final Cloudant service;
    private final String db = "docs-" + UUID.randomUUID();

    CloudantDocuments(Recorder recorder, Cloudant service) {
        this.recorder = recorder;
        this.service = service;
    }

    void run() {
        databases();
        documents();
        bulk();
        changes();
        local();
        recorder.works("databases", "deleteDatabase", () -> {
            service.deleteDatabase(new DeleteDatabaseOptions.Builder(db).build()).execute();
            error(404, () -> service.getDatabaseInformation(new GetDatabaseInformationOptions.Builder(db).build()).execute());
        });
    }

    private void databases() {
        recorder.works("databases", "putDatabase, headDatabase, getDatabaseInformation, getAllDbs, postDbsInfo", () -> {
            Expect.equal(service.putDatabase(new PutDatabaseOptions.Builder(db).q(2).build()).execute().getStatusCode(), 201);
            error(412, () -> service.putDatabase(new PutDatabaseOptions.Builder(db).build()).execute());
            service.headDatabase(new HeadDatabaseOptions.Builder(db).build()).execute();
            Expect.equal(service.getDatabaseInformation(new GetDatabaseInformationOptions.Builder(db).build()).execute()
                    .getResult().getCluster().getQ(), 2L);
            Expect.isTrue(service.getAllDbs().execute().getResult().contains(db), "not listed");
            Expect.equal(service.postDbsInfo(new PostDbsInfoOptions.Builder(List.of(db)).build()).execute().getResult().get(0)
                    .getKey(), db);
        });
    }

    private void documents() {
        recorder.works("documents", "putDocument, getDocument, headDocument, postDocument, deleteDocument", () -> {
            for (String id : List.of("plain", "with space", "ä€😀", "a/b", "50%", "q?x=1&y")) {
                Document document = new Document();
                document.setId(id);
                document.put("n", 1);
                DocumentResult put = service.putDocument(new PutDocumentOptions.Builder(db, id).document(document).build())
                        .execute().getResult();
                Document read = get(id);
                Expect.equal(read.getId() + read.getRev() + read.get("n"), id + put.getRev() + 1);
                service.headDocument(new HeadDocumentOptions.Builder(db, id).build()).execute();
                read.put("n", 2);
                String second = service.putDocument(new PutDocumentOptions.Builder(db, id).document(read).build()).execute()
                        .getResult().getRev();
                error(409, () -> service.putDocument(new PutDocumentOptions.Builder(db, id).document(document).build()).execute());
                service.deleteDocument(new DeleteDocumentOptions.Builder(db, id).rev(second).build()).execute();
                error(404, () -> get(id));
            }
            Document posted = new Document();
            posted.put("n", 3);
            Expect.isTrue(service.postDocument(new PostDocumentOptions.Builder(db).document(posted).build()).execute().getResult().getId()
                    != null, "no id");
        });
        recorder.works("documents", "getDocument with revisions, conflicts, an older revision", () -> {
            Document document = new Document();
            document.put("n", 1);
            String first = put("revised", document);
            document.setRev(first);
            document.put("n", 2);
            String second = put("revised", document);
            Document read = service.getDocument(new GetDocumentOptions.Builder(db, "revised").revs(true).revsInfo(true)
                    .conflicts(true).localSeq(true).build()).execute().getResult();
            Expect.equal(read.getRevisions().ids().size(), 2);
            Expect.equal(read.getRevsInfo().get(0).rev(), second);
            Expect.equal(number(service.getDocument(new GetDocumentOptions.Builder(db, "revised").rev(first).build()).execute()
                    .getResult().get("n")), 1L);
            Expect.isTrue(text(service.getDocumentAsStream(new GetDocumentOptions.Builder(db, "revised").build()).execute()
                    .getResult()).contains("\"n\":2"), "another stream");
        });
        recorder.notOffered("documents", "putAttachment", "attachments are refused (501)", () ->
                error(501, () -> service.putAttachment(new PutAttachmentOptions.Builder(db, "revised", "a.txt",
                        new java.io.ByteArrayInputStream("x".getBytes(StandardCharsets.UTF_8)), "text/plain").build()).execute()));
    }

    private void bulk() {
        recorder.works("bulk", "postBulkDocs, postAllDocs, postAllDocsQueries, postBulkGet", () -> {
            List<Document> documents = IntStream.range(0, 50).mapToObj(i -> {
                Document document = new Document();
                document.setId("bulk" + i);
                document.put("n", i);
                return document;
            }).toList();
            BulkDocs docs = new BulkDocs.Builder(documents).build();
            List<DocumentResult> results = service.postBulkDocs(new PostBulkDocsOptions.Builder(db).bulkDocs(docs).build())
                    .execute().getResult();
            Expect.isTrue(results.size() == 50 && results.stream().allMatch(DocumentResult::isOk), "not all written");
            AllDocsResult rows = service.postAllDocs(new PostAllDocsOptions.Builder(db).startKey("bulk1").endKey("bulk2")
                    .includeDocs(true).build()).execute().getResult();
            Expect.equal(rows.getRows().size(), 12);
            Expect.equal(number(rows.getRows().get(1).getDoc().get("n")), 10L);
            AllDocsQuery query = new AllDocsQuery.Builder().keys(List.of("bulk3", "none")).build();
            Expect.equal(service.postAllDocsQueries(new PostAllDocsQueriesOptions.Builder(db, List.of(query)).build()).execute()
                    .getResult().getResults().get(0).getRows().size(), 2);
            BulkGetQueryDocument wanted = new BulkGetQueryDocument.Builder("bulk4").build();
            Expect.equal(number(service.postBulkGet(new PostBulkGetOptions.Builder(db, List.of(wanted)).build()).execute().getResult()
                    .getResults().get(0).getDocs().get(0).getOk().get("n")), 4L);
        });
        recorder.works("bulk", "postRevsDiff", () -> {
            Map<String, RevsDiff> diff = service.postRevsDiff(new PostRevsDiffOptions.Builder(db,
                    Map.of("bulk0", List.of("9-0123456789abcdef0123456789abcdef"))).build()).execute().getResult();
            Expect.equal(diff.get("bulk0").getMissing().size(), 1);
        });
    }

    private void changes() {
        recorder.works("changes", "postChanges, postChangesAsStream", () -> {
            ChangesResult changes = service.postChanges(new PostChangesOptions.Builder(db).includeDocs(true).limit(10).build())
                    .execute().getResult();
            Expect.equal(changes.getResults().size(), 10);
            ChangesResult rest = service.postChanges(new PostChangesOptions.Builder(db).since(changes.getLastSeq()).build())
                    .execute().getResult();
            Expect.isTrue(rest.getResults().size() > 30 && rest.getPending() == 0, "not the rest");
            ChangesResult some = service.postChanges(new PostChangesOptions.Builder(db).docIds(List.of("bulk7"))
                    .filter("_doc_ids").build()).execute().getResult();
            Expect.equal(some.getResults().get(0).getId(), "bulk7");
            Expect.isTrue(text(service.postChangesAsStream(new PostChangesOptions.Builder(db).feed("continuous").timeout(100)
                    .build()).execute().getResult()).lines().count() > 40, "few lines");
        });
        recorder.works("changes", "ChangesFollower: startOneOff, start", () -> {
            ChangesFollower follower = new ChangesFollower(service, new PostChangesOptions.Builder(db).build());
            Expect.isTrue(follower.startOneOff().count() > 40, "few changes");
            List<String> seen = new ArrayList<>();
            ChangesFollower live = new ChangesFollower(service, new PostChangesOptions.Builder(db).since("now").build());
            Thread writer = new Thread(() -> {
                sleep(500);
                put("followed", new Document());
            });
            writer.start();
            live.start().limit(1).forEach(change -> seen.add(change.getId()));
            live.stop();
            writer.join();
            Expect.equal(seen, List.of("followed"));
        });
    }

    private void local() {
        recorder.works("documents", "putLocalDocument, getLocalDocument, deleteLocalDocument", () -> {
            Document document = new Document();
            document.put("n", 1);
            service.putLocalDocument(new PutLocalDocumentOptions.Builder(db, "mine").document(document).build()).execute();
            Expect.equal(number(service.getLocalDocument(new GetLocalDocumentOptions.Builder(db, "mine").build()).execute().getResult()
                    .get("n")), 1L);
            service.deleteLocalDocument(new DeleteLocalDocumentOptions.Builder(db, "mine").build()).execute();
        });
    }

    private Document get(String id) {
        return service.getDocument(new GetDocumentOptions.Builder(db, id).build()).execute().getResult();
    }

    private String put(String id, Document document) {
        return service.putDocument(new PutDocumentOptions.Builder(db, id).document(document).build()).execute().getResult().getRev();
    }

    /** Numbers are read lazily, in a type of Gson's own. */
    static long number(Object value) {
        return ((Number) value).longValue();
    }

    static String text(java.io.InputStream stream) throws java.io.IOException {
        try (stream) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    static void error(int status, Recorder.Check check) {
        Expect.equal(Expect.error(ServiceResponseException.class, check).getStatusCode(), status);
    }

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
