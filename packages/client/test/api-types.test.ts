import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { readDocument } from '../../server/test/support/operations.js';
import { sharedService } from '../../server/test/support/service.js';
import { Posthorn } from '../src/index.js';
import { apiTypes } from './support/api-types.js';

const service = await sharedService();
const howToUpdate =
  'The types differ from the OpenAPI document. Bring them up to date with: ' +
  'UPDATE_DOCS=1 npx vitest run packages/client/test/api-types.test.ts';

describe('the types of the client', () => {
  it.each([
    ['api.ts', service.publicUrl, () => true],
    // Without resources, whose many types a client would have to choose from by name.
    [
      'platform-api.ts',
      service.platformUrl,
      (id: string) => /^record|Tokens?$|PortalSession$|Organization$/.test(id),
    ],
  ])('in %s are those of the served document', async (name, url, isWanted) => {
    const { schemas } = (await readDocument(service.publicUrl)).components;
    const text = apiTypes(await readDocument(url), isWanted, name === 'api.ts' ? {} : schemas);
    const file = new URL(`../src/${name}`, import.meta.url);
    if (process.env.UPDATE_DOCS) await writeFile(file, text);
    expect(await readFile(file, 'utf8'), howToUpdate).toBe(text);
  });

  it('cover every operation of the public API', async () => {
    const requests: string[] = [];
    const stop = new AbortController();
    const posthorn = new Posthorn({
      url: 'https://hooks.acme.test',
      token: 'none',
      retry: { attempts: 1 },
      fetch: async (url, init) => {
        requests.push(`${init?.method} ${new URL(String(url)).pathname}`);
        if (String(url).includes('/tail')) stop.abort();
        if (init?.method === 'DELETE') return new Response(null, { status: 204 });
        return new Response('{"data":[]}', { headers: { 'content-type': 'application/json' } });
      },
    });
    const { events, eventTypes, webhooks, deliveries, auditLogs } = posthorn;
    const [filter, range] = [{ organization_id: 'ORG-1' }, { from: '2026-11-01', to: '2026-11-02' }];
    await events.list(filter).first();
    await events.get('{event_id}');
    await events.deliveries('{event_id}').first();
    const tail = events.tail(filter, { signal: stop.signal })[Symbol.asyncIterator]();
    await expect(tail.next()).rejects.toThrow(/abort/);
    await eventTypes.list().first();
    await webhooks.list().first();
    await webhooks.create({ ...filter, url: 'https://acme.test', event_types: ['*'] });
    await webhooks.preview({ ...filter, event_types: ['*'] });
    await webhooks.get('{webhook_id}');
    await webhooks.change('{webhook_id}', { status: 'active' });
    await webhooks.delete('{webhook_id}');
    await webhooks.verify('{webhook_id}');
    await webhooks.rotateSecret('{webhook_id}');
    await webhooks.test('{webhook_id}', { event_type: 'invoice.paid' });
    await webhooks.stats('{webhook_id}');
    await webhooks.deliveries('{webhook_id}').first();
    await webhooks.replay('{webhook_id}', range);
    await webhooks.getReplay('{webhook_id}', '{replay_id}');
    await deliveries.list().first();
    await deliveries.get('{webhook_id}', '{delivery_id}');
    await deliveries.redeliver('{webhook_id}', '{delivery_id}');
    await auditLogs.list().first();
    await auditLogs.chain();
    await posthorn.token();
    await posthorn.stats();
    const { paths } = await readDocument(service.publicUrl);
    const documented = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // Health checks are for monitoring, not for clients.
    const expected = documented.filter((name) => !/\/(healthz|readyz)$/.test(name));
    expect(requests.map(decodeURIComponent).sort()).toEqual(expected.sort());
  });
});
