import { beforeAll, expect, it } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import { recordBatch } from '../../src/events/recording-store.js';
import { batch, event } from '../support/client.js';
import { freshDatabase, type TestDatabase } from '../support/database.js';
import { roomOf, subscribe } from '../support/deliveries.js';

let database: TestDatabase['database'];
let node: number;

beforeAll(async () => {
  ({ database } = await freshDatabase());
  node = await registerNode(database, 60_000);
});

/** Records an event for a node with room, and returns all that is written and returned, apart from IDs and times. */
async function recorded(fields: Record<string, unknown>) {
  const { events, leased, matched } = await recordBatch(database, batch([event(fields)]), roomOf(node));
  const [{ id } = { id: '' }] = events;
  const { rows: stored } = await database.query({
    text: `
  select type, organization_id, workspace_id, actor_type, actor_id, subject_type, subject_id, payload::text, bytes
    from posthorn.events where id = $1`,
    values: [id],
  });
  const { rows: handoffs } = await database.query({
    text: `
  select leased_by, bytes, organization_ids, webhook_ids, array(select b - event_base from unnest(bases) b) as bases,
         sizes, ordinals
    from posthorn.handoffs where $1 like 'EVT-' || head || '%'`,
    values: [id],
  });
  const deliveries = leased.map(({ delivery_id, event_id, group, ...delivery }) => {
    const { delivery_created_at, event_created_at, ...rest } = delivery;
    const isOfEvent = event_id === id && delivery_created_at.getTime() === event_created_at.getTime();
    return { ...rest, isOfEvent, open: group?.open, isNumbered: delivery_id.startsWith('WDLV-') };
  });
  expect(new Set(leased.map(({ delivery_id }) => delivery_id)).size).toBe(leased.length);
  const shares = matched.map(({ webhook_id, revision, has_backlog }) => ({
    webhook_id,
    revision,
    has_backlog,
  }));
  return { stored, handoffs, deliveries, shares };
}

// An event with a key is recorded like a batch, one without by small statements if all its deliveries fit.
it.each([
  ['nobody', 'ORG-nobody', null, []],
  ['one webhook', 'ORG-one', null, [null]],
  ['webhooks of the organization and of its workspace', 'ORG-two', 'WS-1', [null, 'WS-1', 'WS-2']],
  ['many webhooks', 'ORG-many', null, Array.from({ length: 20 }, () => null)],
])(
  'an event alone is recorded for %s as in a batch',
  async (_who, organization_id, workspace_id, webhooks) => {
    for (const [index, of] of webhooks.entries())
      await subscribe(database, { organization_id, id: `WHK-${organization_id}-${index}`, workspace_id: of });
    const fields = { organization_id, workspace_id, subject: { type: 'invoice', id: 'INV-1' } };
    const alone = await recorded(fields);
    expect(alone).toEqual(await recorded({ ...fields, idempotency_key: 'once' }));
    expect(alone.deliveries).toHaveLength(webhooks.filter((of) => of === null || of === workspace_id).length);
  },
);
