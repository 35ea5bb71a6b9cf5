from os import environ

import openapi_client as api

configuration = api.Configuration(host=environ["API_URL"], access_token=environ["TOKEN"])
with api.ApiClient(configuration) as client:
    event = api.NewEvent(
        type="invoice.paid",
        organization_id=environ["ORGANIZATION"],
        actor=api.ReferenceInput(type="user", id="USR-ada"),
        subject=api.ReferenceInput(type="invoice", id="INV-1"),
        payload={"id": "INV-1", "amount_minor": 100, "currency": "EUR"},
    )
    recorded = api.EventsApi(client).record_events(api.RecordEventsRequest(event))
    print(recorded.data[0].id)
