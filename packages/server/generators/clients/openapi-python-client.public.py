from os import environ

from posthorn_api_client import AuthenticatedClient
from posthorn_api_client.api.deliveries import get_delivery
from posthorn_api_client.api.events import list_events
from posthorn_api_client.api.webhooks import create_webhook, list_webhooks
from posthorn_api_client.models import CreateWebhookRequest

client = AuthenticatedClient(base_url=environ["API_URL"], token=environ["TOKEN"])
events = list_events.sync(client=client, organization_id=environ["ORGANIZATION"])
webhooks = list_webhooks.sync(client=client)
body = CreateWebhookRequest(
    organization_id=environ["ORGANIZATION"], url=environ["RECEIVER"], event_types=["invoice.*"]
)
created = create_webhook.sync(client=client, body=body)
delivery = get_delivery.sync(environ["WEBHOOK"], environ["DELIVERY"], client=client)
print(events.data[0].id, webhooks.data[0].id, created.data.status, delivery.data.status)
