import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../packages/server/test/support/docs.js';
import { sharedService } from '../../packages/server/test/support/service.js';
import { run, Workshop } from '../../packages/server/test/support/snippets.js';
import { newTenant } from '../../packages/server/test/support/tenant.js';

const service = await sharedService();

test('the producer compiles, and records one event with the change that it is about, even if it runs again', async () => {
  const workshop = await Workshop.open();
  const pay = await readFile(join(root, 'examples/producer/pay.ts'), 'utf8');
  expect(await workshop.compile({ pay })).toEqual({ pay: '' });
  const tenant = await newTenant(service);
  const { receiver } = await tenant.connect();
  // The same payment again, in the same process: loading the package takes most of its time.
  await writeFile(workshop.path('twice.js'), "await import('./pay.js?1');\nawait import('./pay.js?2');\n");
  const ended = await run(process.execPath, [workshop.path('twice.js'), tenant.organization, 'INV-9'], {
    DATABASE_URL: service.databaseUrl,
  });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  const [first, second] = ended.stdout.split('\n');
  const { body } = await receiver.deliveries.nth(1);
  expect(JSON.parse(body.toString())).toMatchObject({
    id: first,
    data: { id: 'INV-9', amount_minor: 1999 },
  });
  // The idempotency key makes it the same event.
  expect(second).toBe(first);
  expect(await tenant.events({ type: 'invoice.paid' })).toHaveLength(1);
});
