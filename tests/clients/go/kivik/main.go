// kivik, a CouchDB client for Go.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb"

	"octavo.test/clients/report"
)

type object = map[string]any

var ctx = context.Background()

type suite struct {
	report.Suite
	client *kivik.Client
	db     *kivik.DB
}

func main() {
	address, _ := url.Parse(os.Getenv("OCTAVO_COUCH_URL"))
	user, password := os.Getenv("OCTAVO_USER"), os.Getenv("OCTAVO_PASSWORD")
	for mode, options := range map[string]kivik.Option{
		"basic": couchdb.BasicAuth(user, password), "cookie": couchdb.CookieAuth(user, password),
	} {
		client, err := kivik.New("couch", address.String(), options)
		if err != nil {
			panic(err)
		}
		s := suite{report.Suite{Client: "kivik", Version: "4.5.2", API: "couch", Mode: mode}, client, client.DB("kivik-" + mode)}
		s.server()
		s.documents()
		s.listings()
		s.queries()
		s.changes()
		s.refusals(address.String())
	}
	report.End()
}

func fails(t report.Test, err error, status int) { t.Equal(kivik.HTTPStatus(err), status) }

// ids reads all rows.
func ids(t report.Test, rows *kivik.ResultSet) []string {
	found := []string{}
	for rows.Next() {
		id, err := rows.ID()
		t.OK(err)
		found = append(found, id)
	}
	t.OK(rows.Err())
	return found
}

func (s suite) server() {
	s.Works("server", "Version, Ping, Session, Membership", func(t report.Test) {
		version, err := s.client.Version(ctx)
		t.OK(err)
		t.True(strings.HasPrefix(version.Version, "3.5"), "%s", version.Version)
		up, err := s.client.Ping(ctx)
		t.OK(err)
		t.True(up, "not up")
		session, err := s.client.Session(ctx)
		t.OK(err)
		t.Equal(session.Name, os.Getenv("OCTAVO_USER"))
		_, err = s.client.Membership(ctx)
		t.OK(err)
	})
	s.Works("databases", "CreateDB, DBExists, AllDBs, AllDBsStats, DBsStats, Stats", func(t report.Test) {
		name := s.db.Name()
		t.OK(s.client.CreateDB(ctx, name, kivik.Param("partitioned", false)))
		fails(t, s.client.CreateDB(ctx, name), 412)
		exists, err := s.client.DBExists(ctx, name)
		t.OK(err)
		t.True(exists, "it does not exist")
		all, err := s.client.AllDBs(ctx)
		t.OK(err)
		t.Contains(strings.Join(all, " "), name)
		stats, err := s.client.DBsStats(ctx, []string{name})
		t.OK(err)
		t.Equal(stats[0].Name, name)
		_, err = s.client.AllDBsStats(ctx)
		t.OK(err)
		one, err := s.db.Stats(ctx)
		t.OK(err)
		t.Equal(one.DocCount, 0)
	})
	s.Works("databases", "DestroyDB", func(t report.Test) {
		t.OK(s.client.CreateDB(ctx, "kivik-destroyed"))
		t.OK(s.client.DestroyDB(ctx, "kivik-destroyed"))
		fails(t, s.client.DestroyDB(ctx, "kivik-destroyed"), 404)
	})
	s.Works("databases", "Security, SetSecurity", func(t report.Test) {
		t.OK(s.db.SetSecurity(ctx, &kivik.Security{Members: kivik.Members{Names: []string{"ann"}}}))
		security, err := s.db.Security(ctx)
		t.OK(err)
		t.Equal(security.Members.Names, []string{"ann"})
	})
	s.Works("databases", "Compact, CompactView, ViewCleanup, Flush", func(t report.Test) {
		t.OK(s.db.Compact(ctx))
		t.OK(s.db.ViewCleanup(ctx))
		t.OK(s.db.Flush(ctx))
	})
}

func (s suite) documents() {
	var rev string
	s.Works("documents", "Put, Get, GetRev, CreateDoc", func(t report.Test) {
		var err error
		rev, err = s.db.Put(ctx, "a/b ü+😀", object{"n": 1})
		t.OK(err)
		_, err = s.db.Put(ctx, "a/b ü+😀", object{"n": 2})
		fails(t, err, 409)
		var doc object
		t.OK(s.db.Get(ctx, "a/b ü+😀").ScanDoc(&doc))
		t.Equal(doc["n"], 1)
		found, err := s.db.GetRev(ctx, "a/b ü+😀")
		t.OK(err)
		t.Equal(found, rev)
		_, _, err = s.db.CreateDoc(ctx, object{"n": 3})
		t.OK(err)
		fails(t, s.db.Get(ctx, "none").Err(), 404)
	})
	s.Works("documents", "Copy, Delete", func(t report.Test) {
		_, err := s.db.Copy(ctx, "copy", "a/b ü+😀")
		t.OK(err)
		copied, err := s.db.GetRev(ctx, "copy")
		t.OK(err)
		_, err = s.db.Delete(ctx, "copy", copied)
		t.OK(err)
		_, err = s.db.Delete(ctx, "copy", copied)
		t.True(err != nil, "deleted twice")
	})
	s.Works("documents", "local and design documents", func(t report.Test) {
		_, err := s.db.Put(ctx, "_local/checkpoint", object{"n": 1})
		t.OK(err)
		t.OK(s.db.Get(ctx, "_local/checkpoint").Err())
		_, err = s.db.Put(ctx, "_design/d", object{"views": object{"by_n": object{"map": "function (doc) { emit(doc.n, 1); }", "reduce": "_sum"}}})
		t.OK(err)
	})
	s.Works("documents", "OpenRevs, RevsDiff, Purge", func(t report.Test) {
		rows := s.db.OpenRevs(ctx, "a/b ü+😀", []string{rev})
		t.True(rows.Next(), "no revision: %v", rows.Err())
		var doc object
		t.OK(rows.ScanDoc(&doc))
		t.Equal(doc["_rev"], rev)
		rows.Close()
		missing := s.db.RevsDiff(ctx, map[string][]string{"a/b ü+😀": {rev, "9-deadbeef"}})
		t.True(missing.Next(), "nothing is missing: %v", missing.Err())
		missing.Close()
		purgeRev, err := s.db.Put(ctx, "purged", object{})
		t.OK(err)
		purged, err := s.db.Purge(ctx, map[string][]string{"purged": {purgeRev}})
		t.OK(err)
		t.Equal(purged.Purged["purged"], []string{purgeRev})
	})
	s.Works("documents", "BulkDocs, BulkGet", func(t report.Test) {
		docs := []any{}
		for i := range 100 {
			docs = append(docs, object{"_id": fmt.Sprintf("doc%03d", i), "n": i})
		}
		results, err := s.db.BulkDocs(ctx, append(docs, object{"_id": "a/b ü+😀"}))
		t.OK(err)
		t.Equal(len(results), 101)
		t.OK(results[0].Error)
		fails(t, results[100].Error, 409)
		rows := s.db.BulkGet(ctx, []kivik.BulkGetReference{{ID: "doc001"}, {ID: "doc002"}})
		t.Equal(ids(t, rows), []string{"doc001", "doc002"})
	})
}

func (s suite) listings() {
	s.Works("listings", "AllDocs, DesignDocs, LocalDocs", func(t report.Test) {
		rows := s.db.AllDocs(ctx, kivik.IncludeDocs(), kivik.Params(object{"startkey": "doc010", "endkey": "doc019", "descending": false}))
		t.Equal(len(ids(t, rows)), 10)
		t.Equal(ids(t, s.db.AllDocs(ctx, kivik.Param("keys", []string{"doc005", "doc001"}))), []string{"doc005", "doc001"})
		t.Equal(ids(t, s.db.DesignDocs(ctx)), []string{"_design/d"})
		t.Equal(ids(t, s.db.LocalDocs(ctx)), []string{"_local/checkpoint"})
	})
	s.Works("views", "Query", func(t report.Test) {
		rows := s.db.Query(ctx, "_design/d", "_view/by_n", kivik.Params(object{"reduce": false, "key": 7}))
		t.Equal(ids(t, rows), []string{"doc007"})
		sum := s.db.Query(ctx, "d", "by_n", kivik.Params(object{"group": false, "startkey": 50}))
		t.True(sum.Next(), "no row: %v", sum.Err())
		var value int
		t.OK(sum.ScanValue(&value))
		t.Equal(value, 50)
		sum.Close()
	})
	s.Works("views", "several queries in one", func(t report.Test) {
		sets := s.db.Query(ctx, "d", "by_n", kivik.Param("queries", []object{{"reduce": false, "key": 1}, {"reduce": false, "key": 2}}))
		found := []string{}
		for sets.NextResultSet() {
			for sets.Next() {
				id, _ := sets.ID()
				found = append(found, id)
			}
		}
		t.OK(sets.Err())
		t.Equal(len(found) >= 2, true)
	})
}

func (s suite) queries() {
	s.Works("queries", "CreateIndex, GetIndexes, Find, Explain, DeleteIndex", func(t report.Test) {
		t.OK(s.db.CreateIndex(ctx, "by-n", "n", object{"fields": []string{"n"}}))
		indexes, err := s.db.GetIndexes(ctx)
		t.OK(err)
		t.Equal(len(indexes), 2)
		query := object{"selector": object{"n": object{"$gte": 90}}, "sort": []string{"n"}, "limit": 5}
		rows := s.db.Find(ctx, query)
		found := []string{}
		for rows.Next() {
			var doc object
			t.OK(rows.ScanDoc(&doc))
			found = append(found, doc["_id"].(string))
		}
		t.OK(rows.Err())
		t.Equal(found, []string{"doc090", "doc091", "doc092", "doc093", "doc094"})
		plan, err := s.db.Explain(ctx, query)
		t.OK(err)
		t.Equal(plan.Index["name"], "n")
		t.OK(s.db.DeleteIndex(ctx, "by-n", "n"))
	})
	s.Works("partitions", "PartitionStats", func(t report.Test) {
		name := "kivik-parts-" + s.Mode
		t.OK(s.client.CreateDB(ctx, name, kivik.Param("partitioned", true)))
		_, err := s.client.DB(name).Put(ctx, "p:1", object{})
		t.OK(err)
		stats, err := s.client.DB(name).PartitionStats(ctx, "p")
		t.OK(err)
		t.Equal(stats.DocCount, 1)
	})
}

func (s suite) changes() {
	s.Works("changes", "Changes: normal, longpoll and continuous", func(t report.Test) {
		count, last := 0, ""
		feed := s.db.Changes(ctx, kivik.IncludeDocs())
		for feed.Next() {
			count++
		}
		t.OK(feed.Err())
		metadata, err := feed.Metadata()
		t.OK(err)
		last = metadata.LastSeq
		t.True(count > 100, "%d changes", count)
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		live := s.db.Changes(limited, kivik.Params(object{"feed": "continuous", "since": last}))
		_, err = s.db.Put(ctx, "live-"+s.Mode, object{})
		t.OK(err)
		t.True(live.Next(), "no change: %v", live.Err())
		t.Equal(live.ID(), "live-"+s.Mode)
		live.Close()
		poll := s.db.Changes(ctx, kivik.Params(object{"feed": "longpoll", "since": last}))
		t.True(poll.Next(), "no change: %v", poll.Err())
		poll.Close()
	})
	s.Works("changes", "DBUpdates", func(t report.Test) {
		updates := s.client.DBUpdates(ctx, kivik.Params(object{"feed": "normal", "since": "0"}))
		t.True(updates.Next(), "no update: %v", updates.Err())
		updates.Close()
	})
}

func (s suite) refusals(address string) {
	s.Works("server", "a wrong password is refused (401)", func(t report.Test) {
		client, err := kivik.New("couch", address, couchdb.BasicAuth("admin", "wrong"))
		t.OK(err)
		_, err = client.AllDBs(ctx)
		fails(t, err, http.StatusUnauthorized)
	})
	s.NotOffered("attachments", "PutAttachment", "refused: there are no attachments", func(t report.Test) {
		attachment := &kivik.Attachment{Filename: "a.txt", ContentType: "text/plain", Content: http.NoBody}
		_, err := s.db.PutAttachment(ctx, "attached", attachment)
		t.True(kivik.HTTPStatus(err) == 501 || kivik.HTTPStatus(err) == 400, "%v", err)
	})
	s.NotOffered("replication", "Replicate", "refused: the server does not replicate by itself", func(t report.Test) {
		_, err := s.client.Replicate(ctx, "target", "source")
		t.True(err != nil && kivik.HTTPStatus(err) >= 400, "%v", err)
	})
}
