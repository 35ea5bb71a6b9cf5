package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	api "clients/api"
)

func authorize(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	return nil
}

func main() {
	client, err := api.NewClientWithResponses(os.Getenv("API_URL"), api.WithRequestEditorFn(authorize))
	if err != nil {
		panic(err)
	}
	body := api.RecordEventsJSONRequestBody{}
	err = body.FromNewEvent(api.NewEvent{
		Type:           "invoice.paid",
		OrganizationId: os.Getenv("ORGANIZATION"),
		Actor:          api.ReferenceInput{Type: "user", Id: "USR-ada"},
		Subject:        api.ReferenceInput{Type: "invoice", Id: "INV-1"},
		Payload:        map[string]interface{}{"id": "INV-1", "amount_minor": 100, "currency": "EUR"},
	})
	if err != nil {
		panic(err)
	}
	recorded, err := client.RecordEventsWithResponse(context.Background(), body)
	if err != nil {
		panic(err)
	}
	fmt.Println(recorded.JSON201.Data[0].Id)
}
