package main

import (
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"octavo.test/clients/report"
)

func (s suite) resources() {
	s.Works("account", "NewClientFromConnectionString", func(t report.Test) {
		text := "AccountEndpoint=" + s.client.Endpoint() + ";AccountKey=" + keyText() + ";"
		client, err := azcosmos.NewClientFromConnectionString(text, nil)
		t.OK(err)
		database, _ := client.NewDatabase(s.database.ID())
		_, err = database.Read(ctx, nil)
		t.OK(err)
	})
	s.databases()
	s.containers()
	s.throughput()
}

func (s suite) databases() {
	id := "go-second-" + s.Mode
	s.Works("databases", "CreateDatabase", func(t report.Test) {
		created, err := s.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
		t.OK(err)
		t.Equal(created.DatabaseProperties.ID, id)
		t.True(created.DatabaseProperties.ResourceID != "" && created.DatabaseProperties.ETag != nil, "no _rid or _etag")
		_, err = s.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, nil)
		fails(t, err, 409)
	})
	database, _ := s.client.NewDatabase(id)
	s.Works("databases", "Read", func(t report.Test) {
		read, err := database.Read(ctx, nil)
		t.OK(err)
		t.Equal(read.DatabaseProperties.ID, id)
		t.True(!read.DatabaseProperties.LastModified.IsZero(), "no _ts")
	})
	s.Works("databases", "NewQueryDatabasesPager", func(t report.Test) {
		options := azcosmos.QueryDatabasesOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@id", Value: id}}}
		pager := s.client.NewQueryDatabasesPager("SELECT * FROM root r WHERE r.id = @id", &options)
		found := []string{}
		for pager.More() {
			page, err := pager.NextPage(ctx)
			t.OK(err)
			for _, one := range page.Databases {
				found = append(found, one.ID)
			}
		}
		t.Equal(found, []string{id})
	})
	s.Works("databases", "Delete", func(t report.Test) {
		_, err := database.Delete(ctx, &azcosmos.DeleteDatabaseOptions{})
		t.OK(err)
		_, err = database.Read(ctx, nil)
		fails(t, err, 404)
	})
}

func (s suite) containers() {
	definition := azcosmos.ContainerProperties{
		ID:                     "defined",
		DefaultTimeToLive:      to.Ptr(int32(3600)),
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Kind: azcosmos.PartitionKeyKindHash, Paths: []string{"/pk"}, Version: 2},
		IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
			IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
			ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/\"_etag\"/?"}, {Path: "/secret/?"}},
			CompositeIndexes: [][]azcosmos.CompositeIndex{{
				{Path: "/name", Order: azcosmos.CompositeIndexAscending}, {Path: "/age", Order: azcosmos.CompositeIndexDescending}}},
			SpatialIndexes: []azcosmos.SpatialIndex{{Path: "/location/*", SpatialTypes: []azcosmos.SpatialType{azcosmos.SpatialTypePoint}}},
		},
		UniqueKeyPolicy:          &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email"}}}},
		ConflictResolutionPolicy: &azcosmos.ConflictResolutionPolicy{Mode: azcosmos.ConflictResolutionModeLastWriteWins, ResolutionPath: "/_ts"},
	}
	container, _ := s.database.NewContainer(definition.ID)
	s.Works("containers", "CreateContainer with every policy", func(t report.Test) {
		s.container(t, definition, nil)
		read, err := container.Read(ctx, nil)
		t.OK(err)
		got := read.ContainerProperties
		t.Equal(*got.DefaultTimeToLive, 3600)
		t.Equal(got.PartitionKeyDefinition, definition.PartitionKeyDefinition)
		t.Equal(got.UniqueKeyPolicy.UniqueKeys, definition.UniqueKeyPolicy.UniqueKeys)
		t.Equal(got.IndexingPolicy.CompositeIndexes, definition.IndexingPolicy.CompositeIndexes)
		t.Equal(got.IndexingPolicy.ExcludedPaths[0].Path, "/\"_etag\"/?")
		t.Equal(got.ConflictResolutionPolicy.Mode, azcosmos.ConflictResolutionModeLastWriteWins)
	})
	s.Works("containers", "unique keys", func(t report.Test) {
		_, err := container.CreateItem(ctx, key("x"), encoded(object{"id": "1", "pk": "x", "email": "a@b"}), nil)
		t.OK(err)
		_, err = container.CreateItem(ctx, key("x"), encoded(object{"id": "2", "pk": "x", "email": "a@b"}), nil)
		fails(t, err, 409)
	})
	s.Works("containers", "Read with PopulateQuotaInfo", func(t report.Test) {
		read, err := container.Read(ctx, &azcosmos.ReadContainerOptions{PopulateQuotaInfo: true})
		t.OK(err)
		t.Contains(read.RawResponse.Header.Get("x-ms-resource-usage"), "documentsCount=1")
	})
	s.Works("containers", "Replace", func(t report.Test) {
		changed := definition
		changed.DefaultTimeToLive = nil
		_, err := container.Replace(ctx, changed, nil)
		t.OK(err)
		read, err := container.Read(ctx, nil)
		t.OK(err)
		t.True(read.ContainerProperties.DefaultTimeToLive == nil, "the time to live is still there")
	})
	s.Works("containers", "NewQueryContainersPager", func(t report.Test) {
		pager := s.database.NewQueryContainersPager("SELECT * FROM c WHERE c.id = 'defined'", nil)
		page, err := pager.NextPage(ctx)
		t.OK(err)
		t.Equal(len(page.Containers), 1)
		t.Equal(page.Containers[0].ID, "defined")
	})
	s.Works("containers", "Delete", func(t report.Test) {
		_, err := container.Delete(ctx, nil)
		t.OK(err)
		_, err = container.Read(ctx, nil)
		fails(t, err, 404)
	})
}

func (s suite) throughput() {
	manual := azcosmos.NewManualThroughputProperties(400)
	autoscale := azcosmos.NewAutoscaleThroughputProperties(4000)
	s.Works("throughput", "ReadThroughput, ReplaceThroughput of a container", func(t report.Test) {
		container := s.container(t, named("measured"), &azcosmos.CreateContainerOptions{ThroughputProperties: &manual})
		read, err := container.ReadThroughput(ctx, nil)
		t.OK(err)
		value, isManual := read.ThroughputProperties.ManualThroughput()
		t.Equal(fmt.Sprint(value, isManual), "400 true")
		t.True(read.MinThroughput != nil && *read.MinThroughput == 400, "no lowest throughput")
		_, err = container.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(600), nil)
		t.OK(err)
		read, err = container.ReadThroughput(ctx, nil)
		t.OK(err)
		value, _ = read.ThroughputProperties.ManualThroughput()
		t.Equal(value, 600)
	})
	s.Works("throughput", "NewAutoscaleThroughputProperties", func(t report.Test) {
		container := s.container(t, named("scaled"), &azcosmos.CreateContainerOptions{ThroughputProperties: &autoscale})
		read, err := container.ReadThroughput(ctx, nil)
		t.OK(err)
		value, isAutoscale := read.ThroughputProperties.AutoscaleMaxThroughput()
		t.Equal(fmt.Sprint(value, isAutoscale), "4000 true")
		_, err = container.ReplaceThroughput(ctx, azcosmos.NewAutoscaleThroughputPropertiesWithIncrement(5000, 10), nil)
		t.OK(err)
		read, err = container.ReadThroughput(ctx, nil)
		t.OK(err)
		value, _ = read.ThroughputProperties.AutoscaleMaxThroughput()
		t.Equal(value, 5000)
	})
	s.Works("throughput", "ReadThroughput of a database without one is answered 404", func(t report.Test) {
		_, err := s.database.ReadThroughput(ctx, nil)
		fails(t, err, 404)
		read, err := s.container(t, named("unmeasured"), nil).ReadThroughput(ctx, nil)
		t.OK(err)
		value, _ := read.ThroughputProperties.ManualThroughput()
		t.Equal(value, 400) // a container has this one by default
	})
	s.Works("throughput", "ReadThroughput, ReplaceThroughput of a database", func(t report.Test) {
		id := "go-throughput-" + s.Mode
		_, err := s.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: id}, &azcosmos.CreateDatabaseOptions{ThroughputProperties: &manual})
		t.OK(err)
		database, _ := s.client.NewDatabase(id)
		_, err = database.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(500), nil)
		t.OK(err)
		read, err := database.ReadThroughput(ctx, nil)
		t.OK(err)
		value, _ := read.ThroughputProperties.ManualThroughput()
		t.Equal(value, 500)
	})
	s.Works("throughput", "429 is retried until the throughput suffices", func(t report.Test) {
		container := s.container(t, named("throttled"), &azcosmos.CreateContainerOptions{ThroughputProperties: &manual})
		text := strings.Repeat("text ", 20_000)
		for i := range 12 { // each of them costs more than a hundred request units
			_, err := container.UpsertItem(ctx, key("x"), encoded(object{"id": fmt.Sprint(i), "pk": "x", "text": text}), nil)
			t.OK(err)
		}
	})
}
