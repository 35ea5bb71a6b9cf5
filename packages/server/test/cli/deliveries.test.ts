import { expect, test } from 'vitest';
import { command } from '../support/command.js';
import { sharedService } from '../support/service.js';
import { newTenant } from '../support/tenant.js';

test('operators list and get the deliveries of an organization without a token', async () => {
  const service = await sharedService();
  const tenant = await newTenant(service);
  const { webhook } = await tenant.connect({ status: 500, body: 'database is locked' });
  const recorded = await tenant.record();
  const [delivery] = await tenant.settled(webhook);
  const env = { DATABASE_URL: service.databaseUrl };
  const ask = async (...args: string[]) => {
    const { code, stdout, stderr } = await command(
      ['deliveries', ...args, '--organization', tenant.organization],
      env,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  expect(await ask('list')).toMatch(new RegExp(`\\tretrying\\t500\\t.*\\t${delivery.id}\\n$`));
  expect(await ask('list', '--event', recorded.id, '--webhook', webhook.id, '--status', 'failed')).toContain(
    delivery.id,
  );
  expect(await ask('list', '--status', 'success')).toBe('');
  const one = await ask('get', delivery.id.slice(-12));
  expect(one).toContain(`Event\tinvoice.paid ${recorded.id}`);
  expect(one).toContain('database is locked');
  const stranger = await command(['deliveries', 'list', '--organization', 'ORG-stranger'], env);
  expect(stranger).toMatchObject({ code: 0, stdout: '' });
});
