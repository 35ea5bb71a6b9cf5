import { startDatabase } from './database.js';
import { organization } from './load.js';
import { startNode } from './node.js';
import { startReceiver } from './receivers.js';
import { settled } from './store.js';

/** Starts nodes on one database of their own, with a webhook whose receiver keeps what arrives. */
export async function startFleet(count, args = []) {
  const receiver = await startReceiver();
  const database = await startDatabase();
  const nodes = [];
  for (let number = 0; number < count; number += 1) nodes.push(await startNode(database.url, args));
  const token = await nodes[0].createToken(organization);
  await createWebhook(nodes[0].api, token, `${receiver.url}/kept`);
  const acknowledged = [];
  let turns = 0;
  return {
    receiver,
    nodes,
    /** Records on the first node, or on all in turn. */
    async record(body, onAll) {
      turns += 1;
      acknowledged.push(...(await nodes[onAll ? turns % count : 0].record(body)));
    },
    settled: () => settled(database.client),
    async cpuMs() {
      let service = 0;
      for (const node of nodes) service += await node.cpuMs();
      return { service, database: await database.cpuMs() };
    },
    async commits() {
      const { rows } = await database.client.query(
        'select xact_commit::int as commits from pg_stat_database where datname = current_database()',
      );
      return rows[0].commits;
    },
    /**
     * Compares the events that were acknowledged with those that arrived and those that the API lists. Counts each
     * event once.
     */
    async ledger() {
      const listed = await listAll(nodes.at(-1).api, token);
      const arrived = new Set(await receiver.kept());
      const lost = acknowledged.filter((id) => !arrived.has(id) || !listed.has(id)).length;
      return { acknowledged: acknowledged.length, delivered: arrived.size, listed: listed.size, lost };
    },
    async stop() {
      for (const node of nodes) await node.stop();
      await database.stop();
      receiver.stop();
    },
  };
}

export async function createWebhook(api, token, url) {
  const response = await fetch(`${api}/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ organization_id: organization, url, event_types: '*' }),
  });
  const { data } = await response.json();
  if (data?.status !== 'active') throw new Error(`no active webhook: ${JSON.stringify(data)}`);
  return data;
}

/** Reads the whole stream in ascending order. */
export async function listAll(api, token) {
  const ids = new Set();
  let cursor;
  for (;;) {
    const query = new URLSearchParams({ organization_id: organization, order: 'asc', limit: '100' });
    if (cursor) query.set('cursor', cursor);
    const response = await fetch(`${api}/v1/events?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { data, meta } = await response.json();
    for (const { id } of data) ids.add(id);
    if (!meta.has_more) return ids;
    cursor = meta.cursor;
  }
}
