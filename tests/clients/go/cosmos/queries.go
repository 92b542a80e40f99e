package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"octavo.test/clients/report"
)

const itemCount = 60

func (s suite) queries() {
	var container *azcosmos.ContainerClient
	every := azcosmos.NewPartitionKey()
	all := func(t report.Test, query string, pk azcosmos.PartitionKey, options *azcosmos.QueryOptions) [][]byte {
		items := [][]byte{}
		pager := container.NewQueryItemsPager(query, pk, options)
		for pager.More() {
			page, err := pager.NextPage(ctx)
			t.OK(err)
			items = append(items, page.Items...)
		}
		return items
	}
	s.Works("queries", "of one partition key", func(t report.Test) {
		wide := azcosmos.NewManualThroughputProperties(30_000) // three physical partitions
		container = s.container(t, named("queried"), &azcosmos.CreateContainerOptions{ThroughputProperties: &wide})
		fill(t, container, itemCount)
		items := all(t, "SELECT * FROM c WHERE c.n < @n ORDER BY c.n DESC", key("k1"), &azcosmos.QueryOptions{
			QueryParameters: []azcosmos.QueryParameter{{Name: "@n", Value: 20}}})
		t.Equal(idsOf(items), []string{"0016", "0011", "0006", "0001"})
	})
	s.Works("queries", "of all partition keys", func(t report.Test) {
		items := all(t, "SELECT * FROM c WHERE c.n >= 10", every, nil)
		t.Equal(len(items), itemCount-10)
		t.Equal(len(all(t, "SELECT * FROM c ORDER BY c.n", every, &azcosmos.QueryOptions{EnableCrossPartitionQuery: to.Ptr(true)})), itemCount)
	})
	s.Differs("queries", "EnableCrossPartitionQuery: false", "Azure refuses queries of several partition keys (400); Octavo answers them", func(t report.Test) {
		t.Equal(len(all(t, "SELECT * FROM c", every, &azcosmos.QueryOptions{EnableCrossPartitionQuery: to.Ptr(false)})), itemCount)
	})
	s.Differs("queries", "ORDER BY, aggregates, DISTINCT, GROUP BY and OFFSET LIMIT over all partition keys",
		"Azure refuses them for clients that do not merge ranges (400); Octavo answers them completely", func(t report.Test) {
			t.Equal(fmt.Sprintf("%s", all(t, "SELECT VALUE COUNT(1) FROM c", every, nil)), fmt.Sprintf("[%d]", itemCount))
			t.Equal(fmt.Sprintf("%s", all(t, "SELECT DISTINCT VALUE c.pk FROM c ORDER BY c.pk", every, nil)), `["k0" "k1" "k2" "k3" "k4"]`)
			t.Equal(len(all(t, "SELECT c.pk, COUNT(1) AS count FROM c GROUP BY c.pk", every, nil)), 5)
			t.Equal(idsOf(all(t, "SELECT * FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 2", every, nil)), []string{"0058", "0057"})
			t.Equal(idsOf(all(t, "SELECT TOP 2 * FROM c ORDER BY c.n", every, nil)), []string{"0000", "0001"})
		})
	s.Works("queries", "pages of PageSizeHint", func(t report.Test) {
		pager := container.NewQueryItemsPager("SELECT * FROM c ORDER BY c.id", every, &azcosmos.QueryOptions{PageSizeHint: 7})
		ids, pages := []string{}, 0
		for pager.More() {
			page, err := pager.NextPage(ctx)
			t.OK(err)
			t.True(len(page.Items) <= 7, "%d items in a page", len(page.Items))
			t.True(page.RequestCharge > 0 && page.ActivityID != "", "no charge or no activity id")
			ids = append(ids, idsOf(page.Items)...)
			pages++
		}
		t.Equal(len(ids), itemCount)
		t.True(pages >= itemCount/7, "%d pages", pages)
	})
	for name, query := range map[string]string{"without an order": "SELECT * FROM c", "with ORDER BY": "SELECT * FROM c ORDER BY c.n DESC"} {
		s.Works("queries", "a ContinuationToken resumed by another process, "+name, func(t report.Test) {
			page, err := container.NewQueryItemsPager(query, every, &azcosmos.QueryOptions{PageSizeHint: 7}).NextPage(ctx)
			t.OK(err)
			t.True(page.ContinuationToken != nil, "no continuation")
			ids := append(idsOf(page.Items), s.resumed(t, container.ID(), query, *page.ContinuationToken)...)
			t.Equal(len(ids), itemCount)
			t.Equal(len(unique(ids)), itemCount)
		})
	}
	s.Works("queries", "pages continue while physical partitions are split", func(t report.Test) {
		pager := container.NewQueryItemsPager("SELECT * FROM c", every, &azcosmos.QueryOptions{PageSizeHint: 5})
		page, err := pager.NextPage(ctx)
		t.OK(err)
		ids := idsOf(page.Items)
		split(t, s.database.ID()+"/"+container.ID())
		for pager.More() {
			page, err := pager.NextPage(ctx)
			t.OK(err)
			ids = append(ids, idsOf(page.Items)...)
		}
		t.Equal(len(unique(ids)), itemCount)
		t.Equal(len(ids), itemCount)
	})
	s.Works("queries", "metrics of indexes and of the query", func(t report.Test) {
		page, err := container.NewQueryItemsPager("SELECT * FROM c WHERE c.n = 1", key("k1"), &azcosmos.QueryOptions{PopulateIndexMetrics: true}).NextPage(ctx)
		t.OK(err)
		t.True(page.IndexMetrics != nil, "no index metrics")
		text, err := base64.StdEncoding.DecodeString(*page.IndexMetrics)
		t.OK(err)
		t.Contains(string(text), `"IndexSpec":"/n/?"`)
		t.True(page.QueryMetrics != nil && strings.Contains(*page.QueryMetrics, "totalExecutionTimeInMs"), "no query metrics")
	})
	s.Works("queries", "options for scans, consistency, sessions and continuations", func(t report.Test) {
		items := all(t, "SELECT c.id FROM c", key("k1"), &azcosmos.QueryOptions{EnableScanInQuery: true, PageSizeHint: 2,
			ConsistencyLevel: to.Ptr(azcosmos.ConsistencyLevelEventual), SessionToken: to.Ptr("0:-1#1"), ResponseContinuationTokenLimitInKB: 1})
		t.Equal(len(items), itemCount/5)
	})
	s.Works("queries", "an invalid query is refused (400)", func(t report.Test) {
		_, err := container.NewQueryItemsPager("SELEC * FROM c", key("k1"), nil).NextPage(ctx)
		fails(t, err, 400)
	})
	s.Works("queries", "a key that has no items", func(t report.Test) {
		t.Equal(len(all(t, "SELECT * FROM c", key("none"), nil)), 0)
	})
	s.readMany(container)
}

func (s suite) readMany(container *azcosmos.ContainerClient) {
	identities := func(count int) []azcosmos.ItemIdentity {
		list := []azcosmos.ItemIdentity{}
		for i := range count {
			list = append(list, azcosmos.ItemIdentity{ID: fmt.Sprintf("%04d", i), PartitionKey: key(fmt.Sprintf("k%d", i%5))})
		}
		return list
	}
	s.Works("items", "ReadManyItems", func(t report.Test) {
		read, err := container.ReadManyItems(ctx, identities(itemCount), nil)
		t.OK(err)
		t.Equal(len(unique(idsOf(read.Items))), itemCount)
		t.True(read.RequestCharge > 0, "no charge")
	})
	s.Works("items", "ReadManyItems leaves out what is missing", func(t report.Test) {
		read, err := container.ReadManyItems(ctx, identities(itemCount+200), &azcosmos.ReadManyItemsOptions{MaxConcurrency: to.Ptr(int32(4))})
		t.OK(err)
		t.Equal(len(read.Items), itemCount)
		read, err = container.ReadManyItems(ctx, nil, nil)
		t.OK(err)
		t.Equal(len(read.Items), 0)
	})
}

func (s suite) feeds() {
	var container *azcosmos.ContainerClient
	var ranges []azcosmos.FeedRange
	s.Works("change feed", "ReadFeedRanges", func(t report.Test) {
		wide := azcosmos.NewManualThroughputProperties(20_000) // two physical partitions
		container = s.container(t, named("followed"), &azcosmos.CreateContainerOptions{ThroughputProperties: &wide})
		fill(t, container, 20)
		var err error
		ranges, err = container.ReadFeedRanges(ctx, nil)
		t.OK(err)
		t.Equal(len(ranges), 2)
		t.Equal(ranges[0].MinInclusive+ranges[1].MaxExclusive, "FF")
	})
	// drain reads until nothing is new, and returns the ids and the last continuation.
	drain := func(t report.Test, options azcosmos.ChangeFeedOptions) (ids []string, token string) {
		for {
			page, err := container.ReadChangeFeed(ctx, &options)
			t.OK(err)
			if len(page.Items) == 0 {
				return sorted(ids), page.ContinuationToken
			}
			ids = append(ids, idsOf(page.Items)...)
			token = page.ContinuationToken
			options.Continuation = &token
		}
	}
	s.Works("change feed", "of each FeedRange, from the beginning", func(t report.Test) {
		ids := []string{}
		for i := range ranges {
			found, _ := drain(t, azcosmos.ChangeFeedOptions{FeedRange: &ranges[i], MaxItemCount: 3})
			ids = append(ids, found...)
		}
		t.Equal(len(ids), 20)
		t.Equal(len(unique(ids)), 20)
	})
	whole := &azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}
	s.Works("change feed", "a Continuation returns what is new", func(t report.Test) {
		ids, token := drain(t, azcosmos.ChangeFeedOptions{FeedRange: whole})
		t.Equal(len(ids), 20)
		_, err := container.UpsertItem(ctx, key("k0"), encoded(object{"id": "0000", "pk": "k0", "n": 100}), nil)
		t.OK(err)
		_, err = container.DeleteItem(ctx, key("k1"), "0001", nil)
		t.OK(err)
		ids, _ = drain(t, azcosmos.ChangeFeedOptions{Continuation: &token})
		t.Equal(ids, []string{"0000"}) // deletions are not in the feed of the latest versions
	})
	s.Works("change feed", "of one PartitionKey", func(t report.Test) {
		page, err := container.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{PartitionKey: to.Ptr(key("k2")), FeedRange: whole})
		t.OK(err)
		for _, item := range page.Items {
			t.Equal(decoded(item)["pk"], "k2")
		}
	})
	s.Works("change feed", "StartFrom a time", func(t report.Test) {
		ids, _ := drain(t, azcosmos.ChangeFeedOptions{FeedRange: whole, StartFrom: to.Ptr(time.Now().Add(-time.Hour))})
		t.Equal(len(ids), 19)
		ids, _ = drain(t, azcosmos.ChangeFeedOptions{FeedRange: whole, StartFrom: to.Ptr(time.Now().Add(time.Hour))})
		t.Equal(len(ids), 0)
	})
	s.Works("change feed", "continues while physical partitions are split", func(t report.Test) {
		page, err := container.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: whole, MaxItemCount: 3})
		t.OK(err)
		ids := idsOf(page.Items)
		split(t, s.database.ID()+"/"+container.ID())
		rest, _ := drain(t, azcosmos.ChangeFeedOptions{Continuation: to.Ptr(page.ContinuationToken), MaxItemCount: 3})
		ids = append(ids, rest...)
		t.Equal(len(unique(ids)), 19)
	})
}

func unique(ids []string) map[string]bool {
	found := map[string]bool{}
	for _, id := range ids {
		found[id] = true
	}
	return found
}

// split splits every physical partition of a container, by the CouchDB API.
func split(t report.Test, database string) {
	base := os.Getenv("OCTAVO_COUCH_URL") + "/_reshard/jobs"
	ask := func(method, url string, body []byte) []byte {
		request, err := http.NewRequest(method, url, bytes.NewReader(body))
		t.OK(err)
		request.SetBasicAuth(os.Getenv("OCTAVO_USER"), os.Getenv("OCTAVO_PASSWORD"))
		request.Header.Set("Content-Type", "application/json")
		reply, err := http.DefaultClient.Do(request)
		t.OK(err)
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		t.OK(err)
		return text
	}
	var jobs []struct{ ID string }
	t.OK(json.Unmarshal(ask("POST", base, encoded(object{"type": "split", "db": database})), &jobs))
	t.True(len(jobs) > 0, "nothing is split")
	for _, job := range jobs {
		for {
			state := decoded(ask("GET", base+"/"+job.ID, nil))["job_state"]
			t.True(state != "failed", "the split failed")
			if state == "completed" {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
