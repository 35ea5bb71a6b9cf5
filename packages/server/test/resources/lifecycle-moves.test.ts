import { describe, expect, test } from 'vitest';
import { possibleMoves } from '../../src/resources/resource-schema.js';
import { catalogue } from '../support/catalogue.js';
import {
  actor,
  creationBody,
  forbidden,
  moveBody,
  Platform,
  resources,
  transitions,
} from '../support/lifecycle.js';
import { sharedService } from '../support/service.js';
import { eventually, newTenant } from '../support/tenant.js';

const service = await sharedService();
const tenant = await newTenant(service);
const { receiver } = await tenant.connect();
const platform = new Platform(service, tenant.organization);

const received = (id: string) => receiver.deliveries.all.filter(({ envelope }) => envelope.id === id);

describe('every move of the table', () => {
  const moves = transitions.filter(({ from }) => from !== null);
  test.each(moves)('$resource that are $from: $move leads to $to and records $event', async (transition) => {
    const { resource, lifecycle, move, from, to, event } = transition;
    const before = await platform.bring(resource, from!);
    const events = await tenant.events({ subject_id: before.id });
    const entries = await platform.audit(before.id);

    const response = await platform.post(`${resource}/${before.id}/${move}`, moveBody(lifecycle, move));
    expect(response.status, response.text).toBe(200);
    expect(response.body.data).toMatchObject({ id: before.id, status: to, created_at: before.created_at });
    expect((await platform.get(`${resource}/${before.id}`)).body).toEqual({ data: response.body.data });

    const [recorded, ...older] = await tenant.events({ subject_id: before.id });
    expect(older).toEqual(events);
    expect(response.body.event).toEqual(recorded);
    expect(Object.keys(response.body.event.payload)).toEqual(Object.keys(recorded.payload));
    expect(recorded).toMatchObject({
      ...{ type: event, organization_id: tenant.organization, workspace_id: null, actor },
      subject: { type: lifecycle.kind, id: before.id },
    });
    const { properties } = catalogue.get(event!)!.schema as unknown as { properties: object };
    if ('previous_status' in properties) expect(recorded.payload.previous_status).toBe(from);
    if ('new_status' in properties) expect(recorded.payload.new_status).toBe(to);
    if ('id' in properties) expect(recorded.payload.id).toBe(before.id);

    const arrived = await eventually(
      async () => received(recorded.id),
      ({ length }) => length > 0,
    );
    expect(arrived.map(({ envelope }) => [envelope.type, envelope.data])).toEqual([
      [event, recorded.payload],
    ]);

    const [entry, ...more] = (await platform.audit(before.id)).slice(entries.length);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      ...{ action: event, organization_id: tenant.organization, workspace_id: null },
      ...{ actor_type: actor.type, actor_id: actor.id, target_type: lifecycle.kind },
      ...{ request_id: response.headers.get('x-request-id'), source_address: '127.0.0.1' },
    });
    expect(entry.changes.status).toEqual(from === to ? undefined : { from, to });
  });
});

describe('every creation of the table', () => {
  test.each(resources)(
    '%s need an organization, an actor, and the attributes without a default',
    async (name, lifecycle) => {
      const { to, event } = lifecycle.creation;
      const response = await platform.create(name, {
        ...{ ...creationBody(lifecycle), organization_id: tenant.organization },
        workspace_id: 'WS-berlin',
      });
      expect(response.status, response.text).toBe(201);
      const { data } = response.body;
      expect(response.headers.get('location')).toBe(`/platform/${name}/${data.id}`);
      expect(data).toMatchObject({ type: lifecycle.kind, status: to, workspace_id: 'WS-berlin' });
      expect(data.id).toMatch(new RegExp(`^${lifecycle.prefix}-[0-9A-HJKMNP-TV-Z]{26}$`));
      expect((await platform.get(`${name}/${data.id}`)).body).toEqual({ data });

      const events = await tenant.events({ subject_id: data.id });
      expect(events.map(({ type }) => type)).toEqual(event ? [event] : []);
      expect(response.body.event).toEqual(events[0]);
      if (event) {
        expect(events[0].workspace_id).toBe('WS-berlin');
        await eventually(
          async () => received(events[0].id),
          ({ length }) => length === 1,
        );
      }
      const entries = await platform.audit(data.id);
      expect(entries).toMatchObject([
        { action: event ?? `${lifecycle.kind}.created`, workspace_id: 'WS-berlin' },
      ]);
      expect(entries[0].changes.status).toEqual({ from: null, to });
    },
  );

  const demanding = ['incidents', 'runs'];
  test.each(resources.filter(([name]) => !demanding.includes(name)))('%s need nothing else', async (name) => {
    expect((await platform.create(name)).status).toBe(201);
  });
});

describe('moves that the table does not have', () => {
  const refused = forbidden.filter(({ moves }) => moves.length > 0);
  const named = refused.map((each) => ({ ...each, names: each.moves.join(', ') }));
  test.each(named)('$resource that are $status: $names are 409 and change nothing', async (each) => {
    const { resource, lifecycle, status, moves } = each;
    const { organization } = await newTenant(service);
    const stranger = new Platform(service, organization);
    const { id } = await stranger.bring(resource, status);
    const before = await stranger.traces();

    for (const move of moves) {
      const response = await stranger.post(`${resource}/${id}/${move}`, moveBody(lifecycle, move));
      expect([move, response.status, response.body.code]).toEqual([move, 409, 'move_not_allowed']);
      expect(response.body.detail).toContain(` is ${status}, `);
      expect(response.body.possible_moves).toEqual(possibleMoves(lifecycle, status));
    }
    expect(await stranger.traces()).toEqual(before);
  });
});
