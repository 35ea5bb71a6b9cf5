import { Configuration, EventsApi } from './api';

declare const process: { env: Record<string, string> };
const { API_URL, TOKEN, ORGANIZATION } = process.env as Record<string, string>;
const configuration = new Configuration({ basePath: API_URL!, accessToken: TOKEN! });
const { data } = await new EventsApi(configuration).recordEvents({
  recordEventsRequest: {
    type: 'invoice.paid',
    organizationId: ORGANIZATION!,
    actor: { type: 'user', id: 'USR-ada' },
    subject: { type: 'invoice', id: 'INV-1' },
    payload: { id: 'INV-1', amount_minor: 100, currency: 'EUR' },
  },
});
console.log(data[0]!.id);
