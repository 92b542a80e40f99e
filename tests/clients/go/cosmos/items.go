package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"octavo.test/clients/report"
)

func (s suite) items() {
	var container *azcosmos.ContainerClient
	body := encoded(object{"id": "1", "pk": "x", "name": "Ä ü 😀", "n": 1, "tags": []string{"a"}})
	withBody := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}
	s.Works("items", "CreateItem", func(t report.Test) {
		container = s.container(t, named("items"), nil)
		created, err := container.CreateItem(ctx, key("x"), body, withBody)
		t.OK(err)
		t.Equal(created.RawResponse.StatusCode, 201)
		t.Equal(decoded(created.Value)["name"], "Ä ü 😀")
		t.Equal(decoded(created.Value)["_etag"], string(created.ETag))
		t.True(created.RequestCharge > 0 && created.SessionToken != nil, "no charge or no session token")
		_, err = container.CreateItem(ctx, key("x"), body, nil)
		t.Equal(fails(t, err, 409).ErrorCode, "409 Conflict")
	})
	s.Works("items", "a write without EnableContentResponseOnWrite returns no body", func(t report.Test) {
		created, err := container.CreateItem(ctx, key("y"), encoded(object{"id": "2", "pk": "y"}), nil)
		t.OK(err)
		t.Equal(len(created.Value), 0)
	})
	s.Works("items", "ReadItem", func(t report.Test) {
		read, err := container.ReadItem(ctx, key("x"), "1", nil)
		t.OK(err)
		t.Equal(decoded(read.Value)["n"], 1)
		_, err = container.ReadItem(ctx, key("x"), "none", nil)
		fails(t, err, 404)
		_, err = container.ReadItem(ctx, key("other"), "1", nil)
		fails(t, err, 404)
	})
	s.Works("items", "UpsertItem", func(t report.Test) {
		upserted, err := container.UpsertItem(ctx, key("x"), encoded(object{"id": "3", "pk": "x"}), nil)
		t.OK(err)
		t.Equal(upserted.RawResponse.StatusCode, 201)
		upserted, err = container.UpsertItem(ctx, key("x"), encoded(object{"id": "3", "pk": "x", "n": 2}), withBody)
		t.OK(err)
		t.Equal(upserted.RawResponse.StatusCode, 200)
		t.Equal(decoded(upserted.Value)["n"], 2)
	})
	s.Works("items", "ReplaceItem with IfMatchEtag", func(t report.Test) {
		read, err := container.ReadItem(ctx, key("x"), "3", nil)
		t.OK(err)
		replaced, err := container.ReplaceItem(ctx, key("x"), "3", encoded(object{"id": "3", "pk": "x", "n": 3}), &azcosmos.ItemOptions{IfMatchEtag: &read.ETag})
		t.OK(err)
		t.True(replaced.ETag != read.ETag, "the ETag is the former one")
		_, err = container.ReplaceItem(ctx, key("x"), "3", encoded(object{"id": "3", "pk": "x", "n": 4}), &azcosmos.ItemOptions{IfMatchEtag: &read.ETag})
		fails(t, err, 412)
		_, err = container.ReplaceItem(ctx, key("x"), "none", encoded(object{"id": "none", "pk": "x"}), nil)
		fails(t, err, 404)
	})
	s.patches(container)
	s.Works("items", "DeleteItem with IfMatchEtag", func(t report.Test) {
		_, err := container.DeleteItem(ctx, key("x"), "3", &azcosmos.ItemOptions{IfMatchEtag: to.Ptr(azcore.ETag(`"other"`))})
		fails(t, err, 412)
		deleted, err := container.DeleteItem(ctx, key("x"), "3", nil)
		t.OK(err)
		t.Equal(deleted.RawResponse.StatusCode, 204)
		_, err = container.DeleteItem(ctx, key("x"), "3", nil)
		fails(t, err, 404)
	})
	for _, level := range azcosmos.ConsistencyLevelValues() {
		s.Works("consistency", string(level), func(t report.Test) {
			written, err := container.UpsertItem(ctx, key("x"), encoded(object{"id": "level", "pk": "x", "level": level}), nil)
			t.OK(err)
			read, err := container.ReadItem(ctx, key("x"), "level", &azcosmos.ItemOptions{ConsistencyLevel: to.Ptr(level), SessionToken: written.SessionToken})
			t.OK(err)
			t.Equal(decoded(read.Value)["level"], level)
		})
	}
	s.Works("items", "options for indexing, priority, buckets and the dedicated gateway", func(t report.Test) {
		options := &azcosmos.ItemOptions{
			IndexingDirective: to.Ptr(azcosmos.IndexingDirectiveExclude), PriorityLevel: to.Ptr(azcosmos.PriorityLevelLow),
			ThroughputBucket:               to.Ptr(int32(2)),
			DedicatedGatewayRequestOptions: &azcosmos.DedicatedGatewayRequestOptions{MaxIntegratedCacheStaleness: to.Ptr(time.Minute)},
		}
		_, err := container.UpsertItem(ctx, key("x"), encoded(object{"id": "options", "pk": "x"}), options)
		t.OK(err)
		_, err = container.ReadItem(ctx, key("x"), "options", options)
		t.OK(err)
	})
	s.Works("items", "time to live", func(t report.Test) {
		short := named("short")
		short.DefaultTimeToLive = to.Ptr(int32(-1))
		expiring := s.container(t, short, nil)
		_, err := expiring.CreateItem(ctx, key("x"), encoded(object{"id": "1", "pk": "x", "ttl": 1}), nil)
		t.OK(err)
		time.Sleep(2100 * time.Millisecond)
		_, err = expiring.ReadItem(ctx, key("x"), "1", nil)
		fails(t, err, 404)
	})
	s.Works("items", "an item of more than 2 MB is refused (413)", func(t report.Test) {
		_, err := container.CreateItem(ctx, key("x"), encoded(object{"id": "large", "pk": "x", "text": strings.Repeat("x", 2<<20)}), nil)
		fails(t, err, 413)
	})
}

func (s suite) patches(container *azcosmos.ContainerClient) {
	s.Works("items", "PatchItem", func(t report.Test) {
		patch := azcosmos.PatchOperations{}
		patch.AppendAdd("/tags/-", "b")
		patch.AppendSet("/name", "new")
		patch.AppendReplace("/pk", "z")
		patch.AppendIncrement("/n", 41)
		_, err := container.PatchItem(ctx, key("x"), "1", patch, nil)
		fails(t, err, 400) // the partition key cannot be changed
		patch = azcosmos.PatchOperations{}
		patch.AppendAdd("/tags/-", "b")
		patch.AppendSet("/name", "new")
		patch.AppendIncrement("/n", 41)
		patched, err := container.PatchItem(ctx, key("x"), "1", patch, &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
		t.OK(err)
		item := decoded(patched.Value)
		t.Equal([]any{item["tags"], item["name"], item["n"]}, "[[a b] new 42]")
		patch = azcosmos.PatchOperations{}
		patch.AppendRemove("/name")
		patched, err = container.PatchItem(ctx, key("x"), "1", patch, &azcosmos.ItemOptions{EnableContentResponseOnWrite: true, IfMatchEtag: &patched.ETag})
		t.OK(err)
		t.True(decoded(patched.Value)["name"] == nil, "the name is still there")
	})
	s.Works("items", "PatchItem with SetCondition", func(t report.Test) {
		patch := azcosmos.PatchOperations{}
		patch.AppendSet("/n", 43)
		patch.SetCondition("from c where c.n = 1")
		_, err := container.PatchItem(ctx, key("x"), "1", patch, nil)
		fails(t, err, 412)
		patch.SetCondition("from c where c.n = 42")
		_, err = container.PatchItem(ctx, key("x"), "1", patch, nil)
		t.OK(err)
	})
}

// keys: each kind of partition key, hierarchical ones, and ids with unusual characters.
func (s suite) keys() {
	container := map[string]azcosmos.PartitionKey{
		"text": key("a/b%:,\"é中"), "number": azcosmos.NewPartitionKeyNumber(-1.5), "bool": azcosmos.NewPartitionKeyBool(true),
		"null": azcosmos.NewPartitionKey().AppendNull(), "empty text": key(""),
	}
	values := map[string]any{"text": "a/b%:,\"é中", "number": -1.5, "bool": true, "null": nil, "empty text": ""}
	var typed *azcosmos.ContainerClient
	s.Differs("partition keys", "text with characters beyond U+FFFF", "the client sends them as `\\U0001f600`, which is not JSON: 400", func(t report.Test) {
		_, err := s.container(t, named("astral"), nil).CreateItem(ctx, key("😀"), encoded(object{"id": "1", "pk": "😀"}), nil)
		fails(t, err, 400)
	})
	for name, value := range container {
		s.Works("partition keys", name, func(t report.Test) {
			if typed == nil {
				typed = s.container(t, named("typed"), nil)
			}
			_, err := typed.CreateItem(ctx, value, encoded(object{"id": "1", "pk": values[name]}), nil)
			t.OK(err)
			read, err := typed.ReadItem(ctx, value, "1", nil)
			t.OK(err)
			t.Equal(decoded(read.Value)["pk"], values[name])
			page, err := typed.NewQueryItemsPager("SELECT * FROM c", value, nil).NextPage(ctx)
			t.OK(err)
			t.Equal(idsOf(page.Items), []string{"1"})
			many, err := typed.ReadManyItems(ctx, []azcosmos.ItemIdentity{{ID: "1", PartitionKey: value}}, nil)
			t.OK(err)
			t.Equal(len(many.Items), 1)
		})
	}
	s.Works("partition keys", "a key of another value than the item's is refused (400)", func(t report.Test) {
		_, err := typed.CreateItem(ctx, key("other"), encoded(object{"id": "2", "pk": "x"}), nil)
		fails(t, err, 400)
	})
	s.Works("partition keys", "hierarchical, and queries of a prefix", func(t report.Test) {
		deep := s.container(t, azcosmos.ContainerProperties{ID: "deep", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{
			Kind: azcosmos.PartitionKeyKindMultiHash, Version: 2, Paths: []string{"/tenant", "/user", "/session"}}}, nil)
		full := func(user string, session float64) azcosmos.PartitionKey {
			return key("acme").AppendString(user).AppendNumber(session)
		}
		for i, user := range []string{"ann", "bob", "ann"} {
			item := object{"id": fmt.Sprint(i), "tenant": "acme", "user": user, "session": i}
			_, err := deep.CreateItem(ctx, full(user, float64(i)), encoded(item), nil)
			t.OK(err)
		}
		_, err := deep.ReadItem(ctx, full("bob", 1), "1", nil)
		t.OK(err)
		for prefix, want := range map[*azcosmos.PartitionKey][]string{
			to.Ptr(key("acme")): {"0", "1", "2"}, to.Ptr(key("acme").AppendString("ann")): {"0", "2"}, to.Ptr(key("none")): {},
		} {
			page, err := deep.NewQueryItemsPager("SELECT * FROM c", *prefix, nil).NextPage(ctx)
			t.OK(err)
			t.Equal(sorted(idsOf(page.Items)), want)
		}
		many, err := deep.ReadManyItems(ctx, []azcosmos.ItemIdentity{{ID: "0", PartitionKey: full("ann", 0)}, {ID: "2", PartitionKey: full("ann", 2)}}, nil)
		t.OK(err)
		t.Equal(sorted(idsOf(many.Items)), []string{"0", "2"})
	})
	for _, id := range []string{"Ünï 😀", "a b", "a%20b", "a+b", "a:b", "it's \"quoted\"", "a;b=c&d", "<tag>", "[x]{y}", "a?b", "trailing "} {
		s.Works("ids", "`"+strings.ReplaceAll(id, " ", "␣")+"`", func(t report.Test) {
			_, err := typed.CreateItem(ctx, key("ids"), encoded(object{"id": id, "pk": "ids"}), nil)
			t.OK(err)
			read, err := typed.ReadItem(ctx, key("ids"), id, nil)
			t.OK(err)
			t.Equal(decoded(read.Value)["id"], id)
			many, err := typed.ReadManyItems(ctx, []azcosmos.ItemIdentity{{ID: id, PartitionKey: key("ids")}}, nil)
			t.OK(err)
			t.Equal(idsOf(many.Items), []string{id})
			_, err = typed.DeleteItem(ctx, key("ids"), id, nil)
			t.OK(err)
		})
	}
	for _, id := range []string{"a/b", "a\\b", "a#b"} {
		s.Differs("ids", "`"+id+"`", "refused (400); on Azure such an item cannot be read by all clients", func(t report.Test) {
			_, err := typed.CreateItem(ctx, key("ids"), encoded(object{"id": id, "pk": "ids"}), nil)
			fails(t, err, 400)
		})
	}
}

func (s suite) batches() {
	var container *azcosmos.ContainerClient
	s.Works("batches", "every operation", func(t report.Test) {
		container = s.container(t, named("batches"), nil)
		batch := container.NewTransactionalBatch(key("x"))
		patch := azcosmos.PatchOperations{}
		patch.AppendIncrement("/n", 1)
		batch.CreateItem(encoded(object{"id": "1", "pk": "x", "n": 1}), nil)
		batch.CreateItem(encoded(object{"id": "2", "pk": "x"}), nil)
		batch.UpsertItem(encoded(object{"id": "3", "pk": "x"}), nil)
		batch.ReplaceItem("2", encoded(object{"id": "2", "pk": "x", "n": 2}), nil)
		batch.PatchItem("1", patch, nil)
		batch.ReadItem("1", nil)
		batch.DeleteItem("3", nil)
		done, err := container.ExecuteTransactionalBatch(ctx, batch, &azcosmos.TransactionalBatchOptions{EnableContentResponseOnWrite: true})
		t.OK(err)
		t.True(done.Success, "the batch failed")
		statuses := []int32{}
		for _, one := range done.OperationResults {
			statuses = append(statuses, one.StatusCode)
		}
		t.Equal(statuses, []int32{201, 201, 201, 200, 200, 200, 204})
		t.Equal(decoded(done.OperationResults[5].ResourceBody)["n"], 2)
	})
	s.Works("batches", "one failure undoes all (424)", func(t report.Test) {
		batch := container.NewTransactionalBatch(key("x"))
		batch.CreateItem(encoded(object{"id": "4", "pk": "x"}), nil)
		batch.CreateItem(encoded(object{"id": "1", "pk": "x"}), nil)
		done, err := container.ExecuteTransactionalBatch(ctx, batch, nil)
		t.OK(err)
		t.True(!done.Success, "the batch succeeded")
		t.Equal(fmt.Sprint(done.OperationResults[0].StatusCode, done.OperationResults[1].StatusCode), "424 409")
		_, err = container.ReadItem(ctx, key("x"), "4", nil)
		fails(t, err, 404)
	})
	s.Works("batches", "IfMatchETag", func(t report.Test) {
		batch := container.NewTransactionalBatch(key("x"))
		batch.ReplaceItem("1", encoded(object{"id": "1", "pk": "x"}), &azcosmos.TransactionalBatchItemOptions{IfMatchETag: to.Ptr(azcore.ETag("other"))})
		done, err := container.ExecuteTransactionalBatch(ctx, batch, nil)
		t.OK(err)
		t.Equal(done.OperationResults[0].StatusCode, 412)
	})
	s.Works("batches", "100 operations; 101 are refused (400)", func(t report.Test) {
		batch := container.NewTransactionalBatch(key("many"))
		for i := range 100 {
			batch.UpsertItem(encoded(object{"id": fmt.Sprint(i), "pk": "many"}), nil)
		}
		done, err := container.ExecuteTransactionalBatch(ctx, batch, nil)
		t.OK(err)
		t.True(done.Success, "the batch failed")
		batch.UpsertItem(encoded(object{"id": "100", "pk": "many"}), nil)
		_, err = container.ExecuteTransactionalBatch(ctx, batch, nil)
		fails(t, err, 400)
	})
}
