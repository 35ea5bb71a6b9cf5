import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  createCatalogue,
  domainsOf,
  type EventOf,
  type EventType,
  type EventTypeName,
  nearestOf,
  type PayloadOf,
  unknownType,
} from '../../src/catalogue/catalogue.js';
import { builtinTypes, readOwnCatalogue } from '../../src/catalogue/catalogue-file.js';
import type { NewEvent, NewEventOf } from '../../src/events/event.js';
import { catalogue, documentedTypes } from '../support/catalogue.js';

const names = catalogue.list().map(({ type }) => type);

const table = {
  service_line: ['activated', 'paused', 'closed', 'status_changed'],
  invoice: ['finalized', 'paid', 'payment_failed', 'voided'],
  incident: ['opened', 'resolved', 'severity_changed'],
  agent: ['run.started', 'run.completed', 'run.failed', 'policy_violated'],
  user: ['invited', 'role_changed', 'deactivated'],
  integration: ['connected', 'sync_failed', 'disconnected'],
  execution: ['blocked', 'resumed'],
  capacity: ['utilisation_warning', 'gap_detected'],
  task: ['created', 'status_changed', 'assigned'],
  webhook: ['delivery_failed', 'verification_failed', 'disabled', 'failing', 'recovered'],
};

interface ObjectSchema {
  type: 'object';
  required?: string[];
  properties: Record<string, Record<string, unknown>>;
}

function schemaOf(type: EventTypeName): ObjectSchema {
  return JSON.parse(JSON.stringify(catalogue.get(type)?.schema));
}

function further(type: string): EventType {
  return { type, description: 'Ours.', schema: { type: 'object' }, sample: {} };
}

describe('the catalogue', () => {
  test("has exactly the interface's types and three of the service's own, in the table's order", () => {
    const expected = Object.entries(table).flatMap(([domain, actions]) =>
      actions.map((action) => `${domain}.${action}`),
    );
    expect(catalogue.list().map(({ type }) => type)).toEqual(expected);
    expect(domainsOf(catalogue)).toEqual(Object.keys(table));
  });

  test('does not contain the verification request, which is not an event', () => {
    expect(catalogue.get('webhook.verification')).toBeUndefined();
  });

  test('does not accept the names of object members as types', () => {
    expect(catalogue.get('constructor')).toBeUndefined();
    expect(catalogue.get('__proto__')).toBeUndefined();
  });

  test.each(documentedTypes.map((entry) => [entry.type, entry] as const))(
    'describes %s completely',
    (_, entry) => {
      expect(entry.description).toMatch(/^[A-Z].*\.$/);
      expect(entry.since).toBe('0.1.0');
      expect(entry.actors).not.toHaveLength(0);
      const { properties } = schemaOf(entry.type as EventTypeName);
      expect(Object.keys(entry.sample)).toEqual(Object.keys(properties));
      for (const field of Object.values(properties)) expect(field.description).toMatch(/\S/);
      expect(entry.schema).not.toHaveProperty('additionalProperties');
    },
  );

  test('requires no field of payloads that neither the interface nor the contract defines', () => {
    const fixed = ['service_line.activated', 'agent.run.completed', 'incident.opened'];
    for (const { type } of catalogue.list()) {
      const { required = [], properties } = schemaOf(type as EventTypeName);
      const expected = fixed.includes(type) || type.startsWith('webhook.') ? Object.keys(properties) : [];
      expect(required, type).toEqual(expected);
    }
  });
});

describe('payloads defined elsewhere', () => {
  const string = expect.objectContaining({ type: 'string' });
  const integer = expect.objectContaining({ type: 'integer' });
  const orNull = (type: string) =>
    expect.objectContaining({ anyOf: [expect.objectContaining({ type }), { type: 'null' }] });

  test.each<[EventTypeName, Record<string, unknown>]>([
    [
      'service_line.activated',
      { previous_status: string, new_status: string, execution_model: string, product_line: string },
    ],
    [
      'agent.run.completed',
      { service_line_id: string, duration_ms: integer, tokens_used: integer, outcome: string },
    ],
    [
      'incident.opened',
      {
        id: expect.objectContaining({ type: 'string', pattern: '^INC-.' }),
        service_line_id: expect.objectContaining({ type: 'string', pattern: '^LIN-.' }),
        severity: expect.objectContaining({ type: 'string', pattern: '^p\\d$' }),
        title: string,
      },
    ],
    [
      'webhook.delivery_failed',
      {
        webhook_id: string,
        delivery_id: string,
        event_id: string,
        event_type: string,
        attempts: integer,
        http_status: orNull('integer'),
        error: orNull('string'),
        last_attempt_at: string,
      },
    ],
    [
      'webhook.verification_failed',
      {
        webhook_id: string,
        reason: string,
        http_status: orNull('integer'),
        duration_ms: integer,
      },
    ],
    [
      'webhook.disabled',
      { webhook_id: string, reason: expect.objectContaining({ enum: ['gone', 'failing', 'manual'] }) },
    ],
  ])('%s has these fields and no others, all required', (type, fields) => {
    const schema = schemaOf(type);
    expect(schema.properties).toEqual(fields);
    expect(schema.required).toEqual(Object.keys(fields));
  });
});

describe('nearest', () => {
  test.each([
    ['invoice.payed', 'invoice.paid'],
    ['invoice.finalised', 'invoice.finalized'],
    ['incident.open', 'incident.opened'],
    ['INCIDENT.OPENED', 'incident.opened'],
    ['capacity.utilization_warning', 'capacity.utilisation_warning'],
    ['agent.completed', 'agent.run.completed'],
    ['service_line_activated', 'service_line.activated'],
    ['invoice.pay', 'invoice.paid'],
    ['task.created', 'task.created'],
  ])('of %s is %s', (name, expected) => {
    expect(nearestOf(names, name)).toEqual({ name: expected, isSimilar: true });
  });

  test.each(['', '*', 'foo.bar', 'order.shipped', 'incident.closed', 'x'.repeat(50_000_000)])(
    'there is always one (%#)',
    (name) => {
      expect(names).toContain(nearestOf(names, name).name);
    },
  );

  test.each(['order.created', 'user.created', 'incident.closed', 'weather.rained', ''])(
    'of %j is not similar',
    (name) => {
      expect(nearestOf(names, name)).toMatchObject({ isSimilar: false });
    },
  );

  test('includes added types', () => {
    const extended = createCatalogue([...builtinTypes(), further('order.shipped')]);
    expect(unknownType('order.shiped', extended)).toContain('did you mean order.shipped?');
  });
});

describe('added types', () => {
  test('come after the built-in ones, in their own order and domains', () => {
    const extended = createCatalogue([
      ...builtinTypes(),
      further('order.shipped'),
      further('invoice.disputed'),
    ]);
    expect(
      extended
        .list()
        .slice(-2)
        .map(({ type }) => type),
    ).toEqual(['order.shipped', 'invoice.disputed']);
    expect(extended.list()).toHaveLength(catalogue.list().length + 2);
    expect(domainsOf(extended)).toEqual([...domainsOf(catalogue), 'order']);
    expect(extended.get('order.shipped')).toMatchObject({ type: 'order.shipped', description: 'Ours.' });
  });

  test('do not change other catalogues', () => {
    createCatalogue([...builtinTypes(), further('order.shipped')]);
    expect(catalogue.get('order.shipped')).toBeUndefined();
  });

  test.each([
    [['order.shipped', 'order.shipped'], /"order\.shipped".*already has it/],
    [['webhook.created'], /"webhook\.created".*reserved for the service/],
    [['*'], /"\*" is not a valid name/],
    [['invoice.*'], /"invoice\.\*" is not a valid name/],
    [['order'], /"order" is not a valid name/],
    [['Order.Shipped'], /"Order\.Shipped" is not a valid name/],
    [['order.a.b.c'], /is not a valid name/],
  ])('%s are refused by name', (types, message) => {
    const { faults } = readOwnCatalogue(types.map(further), () => []);
    expect(faults).toMatchObject([
      { pointer: `/${types.length - 1}/type`, detail: expect.stringMatching(message) },
    ]);
  });
});

describe('types generated from the catalogue', () => {
  test('narrow on type', () => {
    const summarize = (event: EventOf<EventTypeName>): string => {
      switch (event.type) {
        case 'agent.run.completed':
          expectTypeOf(event.payload).toEqualTypeOf<{
            service_line_id: string;
            duration_ms: number;
            tokens_used: number;
            outcome: string;
          }>();
          return event.payload.outcome;
        case 'webhook.disabled':
          expectTypeOf(event.payload.reason).toEqualTypeOf<'gone' | 'failing' | 'manual'>();
          return event.payload.reason;
        case 'task.assigned':
          expectTypeOf(event.payload.previous_assignee_id).toEqualTypeOf<string | null | undefined>();
          return event.payload.assignee_id ?? 'nobody';
        default:
          return event.type;
      }
    };
    const event = { type: 'webhook.disabled', payload: { webhook_id: 'WHK-1', reason: 'gone' } };
    expect(summarize(event as EventOf<'webhook.disabled'>)).toBe('gone');
  });

  test('name every type and no other', () => {
    expectTypeOf<'invoice.paid'>().toExtend<EventTypeName>();
    expectTypeOf<'webhook.verification'>().not.toExtend<EventTypeName>();
    expectTypeOf<string>().not.toExtend<EventTypeName>();
  });

  test('make the fields of open payloads optional, not undefined', () => {
    expectTypeOf<Record<never, never>>().toExtend<PayloadOf<'invoice.paid'>>();
    expectTypeOf<{ currency: number }>().not.toExtend<PayloadOf<'invoice.paid'>>();
    expectTypeOf<{ currency: undefined }>().not.toExtend<PayloadOf<'invoice.paid'>>();
    expectTypeOf<Record<never, never>>().not.toExtend<PayloadOf<'incident.opened'>>();
    expectTypeOf<PayloadOf<'webhook.delivery_failed'>['http_status']>().toEqualTypeOf<number | null>();
  });

  test('include the event resource of the interface', () => {
    type Event = EventOf<'incident.opened'>;
    expectTypeOf<keyof Event>().toEqualTypeOf<
      'id' | 'type' | 'organization_id' | 'workspace_id' | 'actor' | 'subject' | 'payload' | 'created_at'
    >();
    expectTypeOf<Event['type']>().toEqualTypeOf<'incident.opened'>();
    expectTypeOf<Event['workspace_id']>().toEqualTypeOf<string | null>();
    expectTypeOf<Event['payload']>().toEqualTypeOf<PayloadOf<'incident.opened'>>();
  });

  test('check events before they are recorded', () => {
    const head = {
      organization_id: 'ORG-acme',
      actor: { type: 'user', id: 'USR-ada' },
      subject: { type: 'invoice', id: 'INV-1' },
    };
    const paid: NewEventOf<'invoice.paid'> = {
      ...head,
      type: 'invoice.paid',
      payload: { currency: 'EUR', beyond: [1] },
    };
    expectTypeOf(paid).toExtend<NewEvent>();
    // @ts-expect-error: a field of the wrong type
    const wrong: NewEventOf<'invoice.paid'> = { ...paid, payload: { currency: 7 } };
    // @ts-expect-error: a required field is missing
    const incomplete: NewEventOf<'incident.opened'> = { ...head, type: 'incident.opened', payload: {} };
    // @ts-expect-error: the service's own
    type Own = NewEventOf<'webhook.disabled'>;
    expectTypeOf<Own['type']>().toEqualTypeOf<'webhook.disabled'>();
    expect([paid.type, wrong.type, incomplete.type]).toHaveLength(3);
  });
});
