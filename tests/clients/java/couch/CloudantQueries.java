package couch;

import static couch.CloudantDocuments.number;

import com.ibm.cloud.cloudant.features.pagination.Pagination;
import com.ibm.cloud.cloudant.v1.Cloudant;
import com.ibm.cloud.cloudant.v1.model.*;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import support.Expect;
import support.Recorder;

/** Mango, views, search and partitions. */
final class CloudantQueries {
    private final Recorder recorder;
    private final Cloudant service;
    private final String db = "queries-" + UUID.randomUUID();

    CloudantQueries(Recorder recorder, Cloudant service) {
        this.recorder = recorder;
        this.service = service;
    }

    void run() {
        service.putDatabase(new PutDatabaseOptions.Builder(db).partitioned(true).build()).execute();
        List<Document> documents = IntStream.range(0, 40).mapToObj(i -> {
            Document document = new Document();
            document.setId("p" + i % 4 + ":d" + i);
            document.put("n", i);
            document.put("text", i % 2 == 0 ? "salt and pepper" : "sugar");
            return document;
        }).toList();
        service.postBulkDocs(new PostBulkDocsOptions.Builder(db).bulkDocs(new BulkDocs.Builder(documents).build()).build()).execute();
        mango();
        designs();
        partitions();
        pages();
        service.deleteDatabase(new DeleteDatabaseOptions.Builder(db).build()).execute();
    }

    private void mango() {
        Map<String, Object> selector = Map.of("n", Map.of("$gte", 30));
        recorder.works("queries", "postIndex, getIndexesInformation, postFind, postExplain, deleteIndex", () -> {
            IndexDefinition definition = new IndexDefinition.Builder().addFields(new IndexField.Builder().add("n", "asc").build()).build();
            Expect.equal(service.postIndex(new PostIndexOptions.Builder(db, definition).ddoc("by-n").name("n").type("json")
                    .partitioned(false).build()).execute().getResult().getResult(), "created");
            Expect.equal(service.getIndexesInformation(new GetIndexesInformationOptions.Builder(db).build()).execute().getResult()
                    .getTotalRows(), 2L);
            FindResult found = service.postFind(new PostFindOptions.Builder(db, selector).fields(List.of("_id", "n"))
                    .sort(List.of(Map.of("n", "desc"))).limit(4).executionStats(true).build()).execute().getResult();
            Expect.equal(number(found.getDocs().get(0).get("n")), 39L);
            FindResult next = service.postFind(new PostFindOptions.Builder(db, selector).sort(List.of(Map.of("n", "desc"))).limit(4)
                    .bookmark(found.getBookmark()).build()).execute().getResult();
            Expect.equal(number(next.getDocs().get(0).get("n")), 35L);
            Expect.equal(service.postExplain(new PostExplainOptions.Builder(db, selector).build()).execute().getResult().getIndex()
                    .getName(), "n");
            service.deleteIndex(new DeleteIndexOptions.Builder(db, "by-n", "json", "n").build()).execute();
        });
    }

    private void designs() {
        recorder.works("design documents", "putDesignDocument, getDesignDocument, postDesignDocs", () -> {
            DesignDocument design = new DesignDocument.Builder()
                    .views(Map.of("by_n", new DesignDocumentViewsMapReduce.Builder("function (doc) { emit(doc.n, doc.n); }")
                            .reduce("_sum").build()))
                    .indexes(Map.of("words", new SearchIndexDefinition.Builder("function (doc) { index('text', doc.text); }").build()))
                    .options(new DesignDocumentOptions.Builder().partitioned(false).build()).build();
            service.putDesignDocument(new PutDesignDocumentOptions.Builder(db, "d", design).build()).execute();
            Expect.equal(service.getDesignDocument(new GetDesignDocumentOptions.Builder(db, "d").build()).execute().getResult()
                    .getViews().get("by_n").reduce(), "_sum");
            Expect.equal(service.postDesignDocs(new PostDesignDocsOptions.Builder(db).build()).execute().getResult().getRows().size(), 1);
        });
        recorder.works("design documents", "postView, postViewQueries, getDesignDocumentInformation", () -> {
            Expect.equal(service.postView(new PostViewOptions.Builder(db, "d", "by_n").build()).execute().getResult().getRows()
                    .get(0).getValue().toString(), "780");
            ViewResult rows = service.postView(new PostViewOptions.Builder(db, "d", "by_n").reduce(false).startKey(38)
                    .includeDocs(true).build()).execute().getResult();
            Expect.equal(number(rows.getRows().get(1).getDoc().get("n")), 39L);
            ViewQuery query = new ViewQuery.Builder().reduce(false).keys(List.of(3, 4)).build();
            Expect.equal(service.postViewQueries(new PostViewQueriesOptions.Builder(db, "d", "by_n", List.of(query)).build())
                    .execute().getResult().getResults().get(0).getRows().size(), 2);
            service.getDesignDocumentInformation(new GetDesignDocumentInformationOptions.Builder(db, "d").build()).execute();
        });
        recorder.works("design documents", "postSearch, getSearchInfo, postSearchAnalyze", () -> {
            SearchResult found = service.postSearch(new PostSearchOptions.Builder(db, "d", "words", "text:pepper").limit(5)
                    .includeDocs(true).build()).execute().getResult();
            Expect.equal(found.getTotalRows(), 20L);
            Expect.equal(service.postSearch(new PostSearchOptions.Builder(db, "d", "words", "text:pepper").limit(200)
                    .bookmark(found.getBookmark()).build()).execute().getResult().getRows().size(), 15);
            service.getSearchInfo(new GetSearchInfoOptions.Builder(db, "d", "words").build()).execute();
            Expect.equal(service.postSearchAnalyze(new PostSearchAnalyzeOptions.Builder("english", "running shoes").build()).execute()
                    .getResult().getTokens(), List.of("run", "shoe"));
        });
    }

    private void partitions() {
        recorder.works("partitions", "getPartitionInformation, postPartitionAllDocs, postPartitionFind", () -> {
            Expect.equal(service.getPartitionInformation(new GetPartitionInformationOptions.Builder(db, "p1").build()).execute()
                    .getResult().getDocCount(), 10L);
            Expect.equal(service.postPartitionAllDocs(new PostPartitionAllDocsOptions.Builder(db, "p1").build()).execute().getResult()
                    .getRows().size(), 10);
            Expect.equal(service.postPartitionFind(new PostPartitionFindOptions.Builder(db, "p1", Map.of("n", Map.of("$gt", 20)))
                    .build()).execute().getResult().getDocs().size(), 5);
        });
    }

    private void pages() {
        recorder.works("pages", "Pagination of all documents, a view, a partition and a query", () -> {
            Expect.equal(Pagination.newPagination(service, new PostAllDocsOptions.Builder(db).limit(7).build()).rowStream().count(), 41L);
            Expect.equal(Pagination.newPagination(service, new PostViewOptions.Builder(db, "d", "by_n").reduce(false).limit(9)
                    .build()).rowStream().count(), 40L);
            Expect.equal(Pagination.newPagination(service, new PostPartitionAllDocsOptions.Builder(db, "p2").limit(3).build())
                    .rowStream().count(), 10L);
            Expect.equal(Pagination.newPagination(service, new PostFindOptions.Builder(db, Map.of("n", Map.of("$gte", 0))).limit(6)
                    .build()).rowStream().count(), 40L);
            Expect.equal(Pagination.newPagination(service, new PostSearchOptions.Builder(db, "d", "words", "text:sugar").limit(6)
                    .build()).rowStream().count(), 20L);
        });
    }
}
