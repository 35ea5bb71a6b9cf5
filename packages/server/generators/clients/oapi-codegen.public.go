package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	api "clients/api"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func authorize(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	return nil
}

func main() {
	ctx := context.Background()
	organization := os.Getenv("ORGANIZATION")
	client := must(api.NewClientWithResponses(os.Getenv("API_URL"), api.WithRequestEditorFn(authorize)))
	events := must(client.ListEventsWithResponse(ctx, &api.ListEventsParams{OrganizationId: organization}))
	webhooks := must(client.ListWebhooksWithResponse(ctx, &api.ListWebhooksParams{}))
	types := []string{"invoice.*"}
	body := api.CreateWebhookRequest{OrganizationId: organization, Url: os.Getenv("RECEIVER"), EventTypes: types}
	created := must(client.CreateWebhookWithResponse(ctx, &api.CreateWebhookParams{}, body))
	delivery := must(client.GetDeliveryWithResponse(ctx, os.Getenv("WEBHOOK"), os.Getenv("DELIVERY")))
	fmt.Println(events.JSON200.Data[0].Id, webhooks.JSON200.Data[0].Id, created.JSON201.Data.Status, delivery.JSON200.Data.Status)
}
