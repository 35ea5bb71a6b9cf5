import { expect, test } from 'vitest';
import { event, record } from '../support/client.js';
import { hangs, startReceiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

test('an organization with a hundred hanging webhooks cannot fill the memory and starve others', async () => {
  const service = await startTestService();
  const hanging = await startReceiver({ onDelivery: hangs });
  const healthy = await newTenant(service);
  const { receiver } = await healthy.connect(200);
  await healthy.record();
  await receiver.deliveries.nth(1);

  const crowd = await newTenant(service);
  await Promise.all(Array.from({ length: 100 }, () => crowd.webhook(hanging)));
  const payload = { note: 'x'.repeat(4_000) };
  const events = Array.from({ length: 100 }, () => event({ organization_id: crowd.organization, payload }));
  await record(service, ...events);
  await hanging.deliveries.nth(1);

  const { id } = await healthy.record();
  expect((await receiver.deliveries.nth(2)).envelope.id).toBe(id);
  await hanging.close();
});
