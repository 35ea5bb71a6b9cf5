package main

import (
	"context"
	"fmt"
	"os"

	api "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	ctx := context.WithValue(context.Background(), api.ContextAccessToken, os.Getenv("TOKEN"))
	configuration := api.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("API_URL")
	client := api.NewAPIClient(configuration)
	actor, subject := api.NewReferenceInput("user", "USR-ada"), api.NewReferenceInput("invoice", "INV-1")
	payload := map[string]interface{}{"id": "INV-1", "amount_minor": 100, "currency": "EUR"}
	event := api.NewNewEvent("invoice.paid", os.Getenv("ORGANIZATION"), *actor, *subject, payload)
	request := client.EventsAPI.RecordEvents(ctx).RecordEventsRequest(api.RecordEventsRequest{NewEvent: event})
	recorded, _, err := request.Execute()
	if err != nil {
		panic(err)
	}
	fmt.Println(recorded.Data[0].Id)
}
