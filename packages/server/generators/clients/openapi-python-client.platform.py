from os import environ

from posthorn_platform_api_client import AuthenticatedClient
from posthorn_platform_api_client.api.events import record_events
from posthorn_platform_api_client.models import NewEvent, NewEventPayload, ReferenceInput

client = AuthenticatedClient(base_url=environ["API_URL"], token=environ["TOKEN"])
event = NewEvent(
    type_="invoice.paid",
    organization_id=environ["ORGANIZATION"],
    actor=ReferenceInput(type_="user", id="USR-ada"),
    subject=ReferenceInput(type_="invoice", id="INV-1"),
    payload=NewEventPayload.from_dict({"id": "INV-1", "amount_minor": 100, "currency": "EUR"}),
)
print(record_events.sync(client=client, body=event).data[0].id)
