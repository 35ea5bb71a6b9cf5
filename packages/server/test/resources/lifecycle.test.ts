import { describe, expect, test } from 'vitest';
import { subjectTypeOf } from '../../src/catalogue/catalogue.js';
import { createPayloadValidator } from '../../src/catalogue/payload.js';
import {
  attributesOf,
  attributesSetBy,
  counterOf,
  payloadOf,
  type StoredResource,
} from '../../src/resources/resource.js';
import { shortestPathTo } from '../../src/resources/resource-operations.js';
import { lifecycles, possibleMoves, statusesOf, transitionsOf } from '../../src/resources/resource-schema.js';
import { catalogue } from '../support/catalogue.js';
import { actor, creationBody, moveBody, resources, transitions } from '../support/lifecycle.js';

const validate = createPayloadValidator(catalogue);

describe('the table of moves', () => {
  test('has a move or a creation for every event type except those of the service', () => {
    const emitted = new Set(transitions.map(({ event }) => event as string | undefined));
    const types = catalogue.list().map(({ type }) => type);
    expect(types.filter((type) => !type.startsWith('webhook.') && !emitted.has(type))).toEqual([]);
  });

  test('has resources of the kinds that the catalogue gives its events', () => {
    for (const { event, lifecycle } of transitions) {
      if (event) expect(subjectTypeOf(event), event).toBe(lifecycle.kind);
    }
  });

  test.each(resources)('leads %s from their creation to every status', (_name, lifecycle) => {
    for (const status of statusesOf(lifecycle)) expect(() => shortestPathTo(lifecycle, status)).not.toThrow();
    for (const { from } of transitionsOf(lifecycle)) {
      if (from !== null) expect(statusesOf(lifecycle)).toContain(from);
    }
  });

  test('gives every resource its own prefix and kind', () => {
    const all = resources.map(([, lifecycle]) => lifecycle);
    expect(new Set(all.map(({ prefix }) => prefix)).size).toBe(all.length);
    expect(new Set(all.map(({ kind }) => kind)).size).toBe(all.length);
  });

  test('has the moves whose names are fixed', () => {
    expect(Object.keys(lifecycles['service-lines'].moves)).toEqual(['activate', 'pause', 'resume', 'close']);
    expect(Object.keys(lifecycles.invoices.moves)).toEqual(['finalize', 'pay', 'fail-payment', 'void']);
  });

  test('returns the moves that a status allows', () => {
    expect(possibleMoves(lifecycles.invoices, 'open')).toEqual(['pay', 'fail-payment', 'void']);
    expect(possibleMoves(lifecycles.invoices, 'paid')).toEqual([]);
    expect(possibleMoves(lifecycles.invoices, 'toString')).toEqual([]);
  });
});

/** What the database makes of a creation or a move, without one. */
function stored(status: string, attributes: Record<string, unknown>, atMs: number): StoredResource {
  return {
    ...{ organization_id: 'ORG-acme', workspace_id: null, id: 'X-1', kind: 'x', status, attributes },
    ...{ status_since_ms: 1_000, created_ms: 1_000, updated_ms: atMs },
  };
}

const idOf = (prefix: string) => `${prefix}-1`;

describe.each(['required', 'all'] as const)('with the %s fields', (fields) => {
  const emitting = transitions.filter(({ event }) => event !== undefined);
  test.each(emitting)('$move of $resource that are $from makes a valid $event', (transition) => {
    const { lifecycle, move, from, to, event } = transition;
    const creation = creationBody(lifecycle, fields);
    const attributes = attributesOf(lifecycle, creation);
    const id = idOf(lifecycle.prefix);
    const made = lifecycle.moves[move];
    const request = made ? moveBody(lifecycle, move, fields) : creation;
    const before = from === null ? undefined : { ...stored(from, attributes, 1_000), id };
    const set = made ? attributesSetBy(lifecycle, made, request) : {};
    const counter = made && counterOf(lifecycle, made);
    const counted = counter ? { [counter]: (attributes[counter] as number) + 1 } : {};
    const after = { ...stored(to, { ...attributes, ...set, ...counted }, 3_500), id };
    const payload = payloadOf(event!, { lifecycle, move: made, request, before, after });

    expect(validate(event!, payload)).toEqual([]);
    const { properties } = catalogue.get(event!)!.schema as unknown as { properties: object };
    const known = Object.keys(properties);
    expect(Object.keys(payload)).toEqual(known.filter((name) => name in payload));
    if ('id' in properties) expect(payload.id).toBe(id);
    if ('new_status' in properties) expect(payload.new_status).toBe(to);
    if ('previous_status' in properties && from !== null) expect(payload.previous_status).toBe(from);
    // If all fields are given, the payload has all but a previous status that there never was.
    if (fields === 'all') {
      expect(
        known.filter((name) => !(name in payload) && !(from === null && name === 'previous_status')),
      ).toEqual([]);
    }
  });
});

test('missing fields are filled in: the time that passed, the actor, the default', () => {
  const complete = lifecycles.runs.moves.complete!;
  const attributes = { service_line_id: 'LIN-1' };
  const run = {
    lifecycle: lifecycles.runs,
    move: complete,
    before: stored('running', attributes, 1_000),
    after: stored('completed', attributes, 3_500),
  };
  expect(payloadOf(complete.event, { ...run, request: { actor } })).toEqual({
    ...{ service_line_id: 'LIN-1', duration_ms: 2_500, tokens_used: 0, outcome: 'success' },
  });
  const given = { actor, duration_ms: 7, tokens_used: 8, outcome: 'handed_over' };
  expect(payloadOf(complete.event, { ...run, request: given })).toEqual({
    ...{ service_line_id: 'LIN-1', duration_ms: 7, tokens_used: 8, outcome: 'handed_over' },
  });
  expect(attributesOf(lifecycles.users, { actor })).toEqual({ role: 'member', invited_by: actor.id });
  expect(attributesOf(lifecycles.users, { actor: { type: 'system', id: 'sync' } })).toEqual({
    role: 'member',
  });
});
