// The Azure Cosmos DB client for Go: every operation, over HTTPS and over HTTP.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"octavo.test/clients/report"
)

var ctx = context.Background()

type suite struct {
	report.Suite
	client   *azcosmos.Client
	database *azcosmos.DatabaseClient
}

type object = map[string]any

func main() {
	if len(os.Args) > 1 && os.Args[1] == "resume" {
		resume(os.Args[2:])
		return
	}
	for mode, endpoint := range map[string]string{
		"https": os.Getenv("OCTAVO_COSMOS_HTTPS_URL"), "http": os.Getenv("OCTAVO_COSMOS_URL"),
	} {
		s := suite{Suite: report.Suite{Client: "azcosmos", Version: "1.5.0", API: "cosmos", Mode: mode}}
		s.client = newClient(endpoint)
		_, err := s.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "go-" + mode}, nil)
		if err != nil {
			panic(err)
		}
		s.database, _ = s.client.NewDatabase("go-" + mode)
		s.resources()
		s.items()
		s.keys()
		s.batches()
		s.queries()
		s.feeds()
		s.refusals()
	}
	report.End()
}

func newClient(endpoint string) *azcosmos.Client {
	credential, err := azcosmos.NewKeyCredential(keyText())
	if err != nil {
		panic(err)
	}
	client, err := azcosmos.NewClientWithKey(endpoint, credential, nil)
	if err != nil {
		panic(err)
	}
	return client
}

// container creates one with the key /pk, unless the definition says otherwise.
func (s suite) container(t report.Test, definition azcosmos.ContainerProperties, options *azcosmos.CreateContainerOptions) *azcosmos.ContainerClient {
	if definition.PartitionKeyDefinition.Paths == nil {
		definition.PartitionKeyDefinition.Paths = []string{"/pk"}
	}
	_, err := s.database.CreateContainer(ctx, definition, options)
	t.OK(err)
	container, err := s.database.NewContainer(definition.ID)
	t.OK(err)
	return container
}

func named(id string) azcosmos.ContainerProperties { return azcosmos.ContainerProperties{ID: id} }

func key(text string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(text) }

func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

func decoded(text []byte) object {
	var value object
	if err := json.Unmarshal(text, &value); err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
	return value
}

// fill creates `count` items with the ids 0000, 0001, … under the keys k0 … k4 in turn.
func fill(t report.Test, container *azcosmos.ContainerClient, count int) {
	for i := range count {
		pk := fmt.Sprintf("k%d", i%5)
		_, err := container.CreateItem(ctx, key(pk), encoded(object{"id": fmt.Sprintf("%04d", i), "pk": pk, "n": i}), nil)
		t.OK(err)
	}
}

// idsOf returns the ids of items, in order.
func idsOf(items [][]byte) []string {
	ids := []string{}
	for _, item := range items {
		ids = append(ids, decoded(item)["id"].(string))
	}
	return ids
}

func sorted(ids []string) []string {
	sort.Strings(ids)
	return ids
}

// fails checks the status of an error.
func fails(t report.Test, err error, status int) *azcore.ResponseError {
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		t.Fail("got %v, want an error with %d", err, status)
	}
	t.Equal(response.StatusCode, status)
	return response
}

// resume prints the ids of the rest of a query, in another process than that of its first page.
func resume(arguments []string) {
	endpoint, database, container, query, token := arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]
	client, err := newClient(endpoint).NewContainer(database, container)
	if err != nil {
		panic(err)
	}
	pager := client.NewQueryItemsPager(query, azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{ContinuationToken: &token, PageSizeHint: 7})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			panic(err)
		}
		for _, id := range idsOf(page.Items) {
			fmt.Println(id)
		}
	}
}

// resumed returns what resume prints.
func (s suite) resumed(t report.Test, container, query, token string) []string {
	output, err := exec.Command(os.Args[0], "resume", s.client.Endpoint(), s.database.ID(), container, query, token).Output()
	t.OK(err)
	return strings.Fields(string(output))
}

func keyText() string { return os.Getenv("OCTAVO_COSMOS_KEY") }
