import { addTokens } from './access.js';
import { startDatabase } from './database.js';
import { organization } from './load.js';
import { startNode } from './node.js';

/** Starts a node on a database of its own. Returns what is needed to use both. */
export async function startServer(env = {}) {
  const database = await startDatabase();
  const node = await startNode(database.url, [], env);
  const token = await node.createToken(organization);
  const tokens = new Map([[organization, token]]);
  return {
    api: node.api,
    database: database.client,
    databaseUrl: database.url,
    token,
    platformUrl: node.platformUrl,
    /** Records events. They can be given as JSON, so that creating it is not measured. */
    record: (events) => node.record(typeof events === 'string' ? events : JSON.stringify(events)),
    async createWebhook(url, eventTypes = '*', fields = {}) {
      const bearer = tokens.get(fields.organization_id ?? organization);
      const response = await fetch(`${node.api}/v1/webhooks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body: JSON.stringify({ organization_id: organization, url, event_types: eventTypes, ...fields }),
      });
      const body = await response.json();
      if (body.data?.status !== 'active') throw new Error(`no active webhook: ${JSON.stringify(body)}`);
      return body.data;
    },
    /** Lets webhooks be created for further organizations. */
    async openOrganizations(names) {
      for (const [name, text] of await addTokens(database.client, names)) tokens.set(name, text);
    },
    memoryMb: node.memoryMb,
    /** Returns how many milliseconds of CPU time the server process and PostgreSQL have used so far. */
    async cpuMs() {
      return { server: await node.cpuMs(), database: await database.cpuMs() };
    },
    async stop() {
      await node.stop();
      await database.stop();
    },
  };
}
