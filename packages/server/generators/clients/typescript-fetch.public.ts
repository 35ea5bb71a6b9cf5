import { Configuration, DeliveriesApi, EventsApi, WebhooksApi } from './api';

declare const process: { env: Record<string, string> };
const { API_URL, TOKEN, ORGANIZATION, RECEIVER, WEBHOOK, DELIVERY } = process.env as Record<string, string>;
const configuration = new Configuration({ basePath: API_URL!, accessToken: TOKEN! });
const webhooks = new WebhooksApi(configuration);
const organizationId = ORGANIZATION!;
const events = await new EventsApi(configuration).listEvents({ organizationId });
const listed = await webhooks.listWebhooks({});
const created = await webhooks.createWebhook({
  createWebhookRequest: { organizationId, url: RECEIVER!, eventTypes: ['invoice.*'] },
});
const deliveries = new DeliveriesApi(configuration);
const delivery = await deliveries.getDelivery({ webhookId: WEBHOOK!, deliveryId: DELIVERY! });
console.log(events.data[0]!.id, listed.data[0]!.id, created.data.status, delivery.data.status);
