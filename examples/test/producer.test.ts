import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../packages/server/test/support/docs.js';
import { sharedService } from '../../packages/server/test/support/service.js';
import { run, Workshop } from '../../packages/server/test/support/snippets.js';
import { newTenant } from '../../packages/server/test/support/tenant.js';

const service = await sharedService();

test('the producer compiles, and records one event with the change that it is about', async () => {
  const workshop = await Workshop.open();
  const pay = await readFile(join(root, 'examples/producer/pay.ts'), 'utf8');
  expect(await workshop.compile({ pay })).toEqual({ pay: '' });
  const tenant = await newTenant(service);
  const { receiver } = await tenant.connect();
  const start = () =>
    run(process.execPath, [workshop.path('pay.js'), tenant.organization, 'INV-9'], {
      DATABASE_URL: service.databaseUrl,
    });
  const first = await start();
  expect(first).toMatchObject({ code: 0, stderr: '' });
  const { body } = await receiver.deliveries.nth(1);
  expect(JSON.parse(body.toString())).toMatchObject({
    id: first.stdout.trim(),
    data: { id: 'INV-9', amount_minor: 1999 },
  });
  // The same payment again: the idempotency key makes it the same event.
  expect((await start()).stdout).toBe(first.stdout);
  expect(await tenant.events({ type: 'invoice.paid' })).toHaveLength(1);
});
