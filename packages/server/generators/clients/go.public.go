package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	api "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must[T any](value T, _ *http.Response, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.WithValue(context.Background(), api.ContextAccessToken, os.Getenv("TOKEN"))
	organization := os.Getenv("ORGANIZATION")
	configuration := api.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("API_URL")
	client := api.NewAPIClient(configuration)
	events := must(client.EventsAPI.ListEvents(ctx).OrganizationId(organization).Execute())
	webhooks := must(client.WebhooksAPI.ListWebhooks(ctx).Execute())
	body := api.NewCreateWebhookRequest(organization, os.Getenv("RECEIVER"), []string{"invoice.*"})
	created := must(client.WebhooksAPI.CreateWebhook(ctx).CreateWebhookRequest(*body).Execute())
	delivery := must(client.DeliveriesAPI.GetDelivery(ctx, os.Getenv("WEBHOOK"), os.Getenv("DELIVERY")).Execute())
	fmt.Println(events.Data[0].Id, webhooks.Data[0].Id, created.Data.Status, delivery.Data.Status)
}
