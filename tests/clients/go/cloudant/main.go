// IBM Cloudant's client for Go.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/IBM/cloudant-go-sdk/auth"
	"github.com/IBM/cloudant-go-sdk/cloudantv1"
	"github.com/IBM/cloudant-go-sdk/features"
	"github.com/IBM/go-sdk-core/v5/core"

	"octavo.test/clients/report"
)

type object = map[string]any

type suite struct {
	report.Suite
	service *cloudantv1.CloudantV1
	db      string
}

const docCount = 200

func main() {
	user, password, address := os.Getenv("OCTAVO_USER"), os.Getenv("OCTAVO_PASSWORD"), os.Getenv("OCTAVO_COUCH_URL")
	session, err := auth.NewCouchDbSessionAuthenticator(user, password)
	if err != nil {
		panic(err)
	}
	for mode, authenticator := range map[string]core.Authenticator{"basic": &core.BasicAuthenticator{Username: user, Password: password}, "session": session} {
		service, err := cloudantv1.NewCloudantV1(&cloudantv1.CloudantV1Options{URL: address, Authenticator: authenticator})
		if err != nil {
			panic(err)
		}
		service.SetEnableGzipCompression(mode == "session")
		s := suite{report.Suite{Client: "cloudant-go-sdk", Version: "0.10.16", API: "couch", Mode: mode}, service, "cloudant-" + mode}
		s.server()
		s.documents()
		s.listings()
		s.queries()
		s.partitions()
		s.refusals()
	}
	report.End()
}

// status checks the status of a failed operation.
func status(t report.Test, response *core.DetailedResponse, err error, want int) {
	t.True(err != nil && response != nil, "no failure: %v", err)
	t.Equal(response.StatusCode, want)
}

func (s suite) server() {
	s.Works("server", "GetServerInformation, GetUpInformation, GetUuids, GetMembershipInformation, GetSessionInformation, GetActiveTasks", func(t report.Test) {
		information, _, err := s.service.GetServerInformation(s.service.NewGetServerInformationOptions())
		t.OK(err)
		t.True(strings.HasPrefix(*information.Version, "3.5"), "%s", *information.Version)
		up, _, err := s.service.GetUpInformation(s.service.NewGetUpInformationOptions())
		t.OK(err)
		t.Equal(*up.Status, "ok")
		uuids, _, err := s.service.GetUuids(s.service.NewGetUuidsOptions().SetCount(3))
		t.OK(err)
		t.Equal(len(uuids.Uuids), 3)
		_, _, err = s.service.GetMembershipInformation(s.service.NewGetMembershipInformationOptions())
		t.OK(err)
		session, _, err := s.service.GetSessionInformation(s.service.NewGetSessionInformationOptions())
		t.OK(err)
		t.Equal(*session.UserCtx.Name, os.Getenv("OCTAVO_USER"))
		_, _, err = s.service.GetActiveTasks(s.service.NewGetActiveTasksOptions())
		t.OK(err)
	})
	s.Works("databases", "PutDatabase, HeadDatabase, GetDatabaseInformation, GetAllDbs, PostDbsInfo, GetShardsInformation", func(t report.Test) {
		_, response, err := s.service.PutDatabase(s.service.NewPutDatabaseOptions(s.db))
		t.OK(err)
		t.Equal(response.StatusCode, 201)
		_, response, err = s.service.PutDatabase(s.service.NewPutDatabaseOptions(s.db))
		status(t, response, err, 412)
		_, err = s.service.HeadDatabase(s.service.NewHeadDatabaseOptions(s.db))
		t.OK(err)
		information, _, err := s.service.GetDatabaseInformation(s.service.NewGetDatabaseInformationOptions(s.db))
		t.OK(err)
		t.Equal(*information.DbName, s.db)
		all, _, err := s.service.GetAllDbs(s.service.NewGetAllDbsOptions())
		t.OK(err)
		t.Contains(strings.Join(all, " "), s.db)
		infos, _, err := s.service.PostDbsInfo(s.service.NewPostDbsInfoOptions([]string{s.db, "none"}))
		t.OK(err)
		t.Equal(len(infos), 2)
		_, _, err = s.service.GetShardsInformation(s.service.NewGetShardsInformationOptions(s.db))
		t.OK(err)
	})
	s.Works("databases", "PutSecurity, GetSecurity", func(t report.Test) {
		members := &cloudantv1.SecurityObject{Names: []string{"ann"}, Roles: []string{}}
		_, _, err := s.service.PutSecurity(s.service.NewPutSecurityOptions(s.db).SetMembers(members).SetAdmins(&cloudantv1.SecurityObject{}))
		t.OK(err)
		security, _, err := s.service.GetSecurity(s.service.NewGetSecurityOptions(s.db))
		t.OK(err)
		t.Equal(security.Members.Names, []string{"ann"})
	})
}

func (s suite) documents() {
	var rev string
	s.Works("documents", "PutDocument, GetDocument, HeadDocument, PostDocument, DeleteDocument", func(t report.Test) {
		document := &cloudantv1.Document{}
		document.SetProperty("n", 1)
		put, _, err := s.service.PutDocument(s.service.NewPutDocumentOptions(s.db, "a/b ü+😀").SetDocument(document))
		t.OK(err)
		rev = *put.Rev
		got, _, err := s.service.GetDocument(s.service.NewGetDocumentOptions(s.db, "a/b ü+😀").SetRevs(true))
		t.OK(err)
		t.Equal(got.GetProperty("n"), 1)
		_, response, err := s.service.PutDocument(s.service.NewPutDocumentOptions(s.db, "a/b ü+😀").SetDocument(document))
		status(t, response, err, 409)
		head, err := s.service.HeadDocument(s.service.NewHeadDocumentOptions(s.db, "a/b ü+😀"))
		t.OK(err)
		t.Equal(head.Headers.Get("ETag"), `"`+rev+`"`)
		posted, _, err := s.service.PostDocument(s.service.NewPostDocumentOptions(s.db).SetDocument(document))
		t.OK(err)
		_, _, err = s.service.DeleteDocument(s.service.NewDeleteDocumentOptions(s.db, *posted.ID).SetRev(*posted.Rev))
		t.OK(err)
		_, response, err = s.service.GetDocument(s.service.NewGetDocumentOptions(s.db, *posted.ID))
		status(t, response, err, 404)
	})
	s.Works("documents", "PutLocalDocument, GetLocalDocument, DeleteLocalDocument", func(t report.Test) {
		_, _, err := s.service.PutLocalDocument(s.service.NewPutLocalDocumentOptions(s.db, "checkpoint").SetDocument(&cloudantv1.Document{}))
		t.OK(err)
		_, _, err = s.service.GetLocalDocument(s.service.NewGetLocalDocumentOptions(s.db, "checkpoint"))
		t.OK(err)
		_, _, err = s.service.DeleteLocalDocument(s.service.NewDeleteLocalDocumentOptions(s.db, "checkpoint"))
		t.OK(err)
	})
	s.Works("documents", "PostBulkDocs, PostBulkGet, PostBulkGetAsMixed, PostRevsDiff", func(t report.Test) {
		documents := []cloudantv1.Document{}
		for i := range docCount {
			document := cloudantv1.Document{ID: core.StringPtr(fmt.Sprintf("doc%03d", i))}
			document.SetProperty("n", i)
			document.SetProperty("text", "the quick brown fox")
			documents = append(documents, document)
		}
		results, _, err := s.service.PostBulkDocs(s.service.NewPostBulkDocsOptions(s.db).SetBulkDocs(&cloudantv1.BulkDocs{Docs: documents}))
		t.OK(err)
		t.Equal(len(results), docCount)
		wanted := []cloudantv1.BulkGetQueryDocument{{ID: core.StringPtr("doc001")}, {ID: core.StringPtr("doc002")}}
		found, _, err := s.service.PostBulkGet(s.service.NewPostBulkGetOptions(s.db, wanted))
		t.OK(err)
		t.Equal(*found.Results[1].Docs[0].Ok.ID, "doc002")
		mixed, _, err := s.service.PostBulkGetAsMixed(s.service.NewPostBulkGetOptions(s.db, wanted))
		t.OK(err)
		text, err := io.ReadAll(mixed)
		t.OK(err)
		t.Contains(string(text), "doc001")
		missing, _, err := s.service.PostRevsDiff(s.service.NewPostRevsDiffOptions(s.db, map[string][]string{"doc001": {"9-deadbeefdeadbeefdeadbeefdeadbeef"}}))
		t.OK(err)
		t.Equal(len(missing["doc001"].Missing), 1)
	})
}

func (s suite) listings() {
	s.Works("listings", "PostAllDocs, PostAllDocsQueries, PostAllDocsAsStream, AllDocsPager", func(t report.Test) {
		rows, _, err := s.service.PostAllDocs(s.service.NewPostAllDocsOptions(s.db).SetStartKey("doc010").SetEndKey("doc019").SetIncludeDocs(true))
		t.OK(err)
		t.Equal(len(rows.Rows), 10)
		queries := []cloudantv1.AllDocsQuery{{Keys: []string{"doc001"}}, {Limit: core.Int64Ptr(2)}}
		sets, _, err := s.service.PostAllDocsQueries(s.service.NewPostAllDocsQueriesOptions(s.db, queries))
		t.OK(err)
		t.Equal(len(sets.Results), 2)
		stream, _, err := s.service.PostAllDocsAsStream(s.service.NewPostAllDocsOptions(s.db))
		t.OK(err)
		text, err := io.ReadAll(stream)
		t.OK(err)
		t.Contains(string(text), "doc199")
		pages, err := features.NewAllDocsPagination(s.service, s.service.NewPostAllDocsOptions(s.db).SetLimit(17)).Pager()
		t.OK(err)
		all, err := pages.GetAll()
		t.OK(err)
		t.Equal(len(all), docCount+1)
	})
	s.Works("changes", "PostChanges, PostChangesAsStream, ChangesFollower", func(t report.Test) {
		changes, _, err := s.service.PostChanges(s.service.NewPostChangesOptions(s.db).SetSince("0").SetLimit(5))
		t.OK(err)
		t.Equal(len(changes.Results), 5)
		stream, _, err := s.service.PostChangesAsStream(s.service.NewPostChangesOptions(s.db).SetFeed("continuous").SetTimeout(100))
		t.OK(err)
		_, err = io.ReadAll(stream)
		t.OK(err)
		follower, err := features.NewChangesFollower(s.service, s.service.NewPostChangesOptions(s.db))
		t.OK(err)
		items, err := follower.StartOneOff()
		t.OK(err)
		count := 0
		for item := range items {
			_, err := item.Item()
			t.OK(err)
			count++
		}
		t.True(count >= docCount, "%d changes", count)
		live, err := features.NewChangesFollower(s.service, s.service.NewPostChangesOptions(s.db).SetSince(*changes.LastSeq))
		t.OK(err)
		following, err := live.Start()
		t.OK(err)
		select {
		case item := <-following:
			_, err = item.Item()
			t.OK(err)
		case <-time.After(10 * time.Second):
			t.Fail("no change within 10 seconds")
		}
		live.Stop()
	})
	s.Works("changes", "GetDbUpdates", func(t report.Test) {
		_, _, err := s.service.GetDbUpdates(s.service.NewGetDbUpdatesOptions().SetSince("0"))
		t.OK(err)
	})
}

func (s suite) queries() {
	s.Works("views", "PutDesignDocument, PostView, PostViewQueries, ViewPager, GetDesignDocumentInformation", func(t report.Test) {
		design := &cloudantv1.DesignDocument{
			Views:   map[string]cloudantv1.DesignDocumentViewsMapReduce{"by_n": {Map: core.StringPtr("function (doc) { emit(doc.n, 1); }"), Reduce: core.StringPtr("_sum")}},
			Indexes: map[string]cloudantv1.SearchIndexDefinition{"text": {Index: core.StringPtr("function (doc) { if (doc.text) index('text', doc.text); }")}},
		}
		_, _, err := s.service.PutDesignDocument(s.service.NewPutDesignDocumentOptions(s.db, "d", design))
		t.OK(err)
		rows, _, err := s.service.PostView(s.service.NewPostViewOptions(s.db, "d", "by_n").SetReduce(false).SetKey(7))
		t.OK(err)
		t.Equal(*rows.Rows[0].ID, "doc007")
		sets, _, err := s.service.PostViewQueries(s.service.NewPostViewQueriesOptions(s.db, "d", "by_n", []cloudantv1.ViewQuery{{Key: 1, Reduce: core.BoolPtr(false)}, {}}))
		t.OK(err)
		t.Equal(len(sets.Results), 2)
		pages, err := features.NewViewPagination(s.service, s.service.NewPostViewOptions(s.db, "d", "by_n").SetReduce(false).SetLimit(17)).Pager()
		t.OK(err)
		all, err := pages.GetAll()
		t.OK(err)
		t.Equal(len(all), docCount+1)
		_, _, err = s.service.GetDesignDocumentInformation(s.service.NewGetDesignDocumentInformationOptions(s.db, "d"))
		t.OK(err)
	})
	s.Works("search", "PostSearch, SearchPager, PostSearchAnalyze, GetSearchInfo", func(t report.Test) {
		found, _, err := s.service.PostSearch(s.service.NewPostSearchOptions(s.db, "d", "text", "text:fox").SetLimit(3))
		t.OK(err)
		t.Equal(*found.TotalRows, docCount)
		pages, err := features.NewSearchPagination(s.service, s.service.NewPostSearchOptions(s.db, "d", "text", "text:fox").SetLimit(50)).Pager()
		t.OK(err)
		all, err := pages.GetAll()
		t.OK(err)
		t.Equal(len(all), docCount)
		tokens, _, err := s.service.PostSearchAnalyze(s.service.NewPostSearchAnalyzeOptions("english", "running"))
		t.OK(err)
		t.Equal(tokens.Tokens, []string{"run"})
		_, _, err = s.service.GetSearchInfo(s.service.NewGetSearchInfoOptions(s.db, "d", "text"))
		t.OK(err)
	})
	s.Works("queries", "PostIndex, GetIndexesInformation, PostFind, PostExplain, FindPager, DeleteIndex", func(t report.Test) {
		field := cloudantv1.IndexField{}
		field.SetProperty("n", core.StringPtr("asc"))
		definition := &cloudantv1.IndexDefinition{Fields: []cloudantv1.IndexField{field}}
		_, _, err := s.service.PostIndex(s.service.NewPostIndexOptions(s.db, definition).SetDdoc("by-n").SetName("n"))
		t.OK(err)
		indexes, _, err := s.service.GetIndexesInformation(s.service.NewGetIndexesInformationOptions(s.db))
		t.OK(err)
		t.Equal(*indexes.TotalRows, 2)
		selector := object{"n": object{"$gte": 100}}
		found, _, err := s.service.PostFind(s.service.NewPostFindOptions(s.db, selector).SetSort([]map[string]string{{"n": "asc"}}).SetLimit(3))
		t.OK(err)
		t.Equal(*found.Docs[0].ID, "doc100")
		plan, _, err := s.service.PostExplain(s.service.NewPostExplainOptions(s.db, selector))
		t.OK(err)
		t.Equal(*plan.Index.Name, "n")
		pages, err := features.NewFindPagination(s.service, s.service.NewPostFindOptions(s.db, selector).SetLimit(30)).Pager()
		t.OK(err)
		all, err := pages.GetAll()
		t.OK(err)
		t.Equal(len(all), 100)
		_, _, err = s.service.DeleteIndex(s.service.NewDeleteIndexOptions(s.db, "by-n", "json", "n"))
		t.OK(err)
	})
}

func (s suite) partitions() {
	s.Works("partitions", "GetPartitionInformation, PostPartitionAllDocs, PostPartitionFind, PostPartitionExplain", func(t report.Test) {
		db := s.db + "-parts"
		_, _, err := s.service.PutDatabase(s.service.NewPutDatabaseOptions(db).SetPartitioned(true))
		t.OK(err)
		for _, id := range []string{"p:1", "p:2", "q:1"} {
			_, _, err := s.service.PutDocument(s.service.NewPutDocumentOptions(db, id).SetDocument(&cloudantv1.Document{}))
			t.OK(err)
		}
		information, _, err := s.service.GetPartitionInformation(s.service.NewGetPartitionInformationOptions(db, "p"))
		t.OK(err)
		t.Equal(*information.DocCount, 2)
		rows, _, err := s.service.PostPartitionAllDocs(s.service.NewPostPartitionAllDocsOptions(db, "p"))
		t.OK(err)
		t.Equal(len(rows.Rows), 2)
		found, _, err := s.service.PostPartitionFind(s.service.NewPostPartitionFindOptions(db, "p", object{"_id": object{"$gt": nil}}))
		t.OK(err)
		t.Equal(len(found.Docs), 2)
		_, _, err = s.service.PostPartitionExplain(s.service.NewPostPartitionExplainOptions(db, "p", object{}))
		t.OK(err)
	})
	s.Works("databases", "DeleteDatabase", func(t report.Test) {
		_, _, err := s.service.DeleteDatabase(s.service.NewDeleteDatabaseOptions(s.db + "-parts"))
		t.OK(err)
		_, response, err := s.service.GetDatabaseInformation(s.service.NewGetDatabaseInformationOptions(s.db + "-parts"))
		status(t, response, err, 404)
	})
}

func (s suite) refusals() {
	s.NotOffered("attachments", "PutAttachment", "refused: there are no attachments", func(t report.Test) {
		content := io.NopCloser(strings.NewReader("text"))
		_, response, err := s.service.PutAttachment(s.service.NewPutAttachmentOptions(s.db, "doc001", "a.txt", content, "text/plain"))
		t.True(err != nil && (response.StatusCode == 501 || response.StatusCode == 400), "%v", err)
	})
}
