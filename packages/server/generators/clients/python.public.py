from os import environ

import openapi_client as api

configuration = api.Configuration(host=environ["API_URL"], access_token=environ["TOKEN"])
with api.ApiClient(configuration) as client:
    webhooks = api.WebhooksApi(client)
    events = api.EventsApi(client).list_events(environ["ORGANIZATION"])
    listed = webhooks.list_webhooks()
    body = api.CreateWebhookRequest(
        organization_id=environ["ORGANIZATION"],
        url=environ["RECEIVER"],
        event_types=["invoice.*"],
    )
    created = webhooks.create_webhook(body)
    delivery = api.DeliveriesApi(client).get_delivery(environ["WEBHOOK"], environ["DELIVERY"])
    print(events.data[0].id, listed.data[0].id, created.data.status, delivery.data.status)
