package main

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"octavo.test/clients/report"
)

// tokens stands for Microsoft Entra ID.
type tokens struct{}

func (tokens) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "header.payload.signature", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func (s suite) refusals() {
	s.Works("account", "a wrong key is refused (401)", func(t report.Test) {
		credential, _ := azcosmos.NewKeyCredential("d3JvbmcgcGFzc3dvcmQgd3Jvbmc=")
		client, err := azcosmos.NewClientWithKey(s.client.Endpoint(), credential, nil)
		t.OK(err)
		database, _ := client.NewDatabase("any")
		_, err = database.Read(ctx, nil)
		t.Contains(err.Error(), "401")
	})
	if s.Mode == "https" { // the client sends no tokens over HTTP
		s.NotOffered("account", "NewClient with a token of Microsoft Entra ID", "401; use a key", func(t report.Test) {
			client, err := azcosmos.NewClient(s.client.Endpoint(), tokens{}, nil)
			t.OK(err)
			database, _ := client.NewDatabase("any")
			_, err = database.Read(ctx, nil)
			t.Contains(err.Error(), "401")
		})
	}
	s.NotOffered("containers", "VectorEmbeddingPolicy", "400: there is no vector search", func(t report.Test) {
		vectors := named("vectors")
		vectors.PartitionKeyDefinition.Paths = []string{"/pk"}
		vectors.VectorEmbeddingPolicy = &azcosmos.VectorEmbeddingPolicy{VectorEmbeddings: []azcosmos.VectorEmbedding{{
			Path: "/vector", DataType: azcosmos.VectorDataTypeFloat32, DistanceFunction: azcosmos.VectorDistanceFunctionCosine, Dimensions: 3}}}
		_, err := s.database.CreateContainer(ctx, vectors, nil)
		fails(t, err, 400)
	})
	s.NotOffered("containers", "FullTextPolicy", "400: SQL has no full-text search", func(t report.Test) {
		texts := named("texts")
		texts.PartitionKeyDefinition.Paths = []string{"/pk"}
		texts.FullTextPolicy = &azcosmos.FullTextPolicy{DefaultLanguage: "en-US", FullTextPaths: []azcosmos.FullTextPath{{Path: "/text", Language: "en-US"}}}
		_, err := s.database.CreateContainer(ctx, texts, nil)
		fails(t, err, 400)
	})
}
