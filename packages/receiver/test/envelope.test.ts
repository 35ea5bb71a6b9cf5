import { expect, expectTypeOf, test } from 'vitest';
import type { Envelope, EnvelopeData, EnvelopeOf } from '../src/index.js';

const head = { id: 'EVT-1', created_at: '', organization_id: 'ORG-1', workspace_id: null };

test('a parsed body narrows on its type', () => {
  const summarise = (event: EnvelopeOf): string => {
    switch (event.type) {
      case 'agent.run.completed':
        expectTypeOf(event.data).toEqualTypeOf<{
          service_line_id: string;
          duration_ms: number;
          tokens_used: number;
          outcome: string;
        }>();
        return event.data.outcome;
      case 'invoice.paid':
        expectTypeOf(event.data.amount_minor).toEqualTypeOf<number | undefined>();
        // @ts-expect-error: the field of another type
        return event.data.outcome ?? 'paid';
      case 'webhook.disabled':
        expectTypeOf(event.data.reason).toEqualTypeOf<'gone' | 'failing' | 'manual'>();
        return event.data.reason;
      case 'webhook.verification':
        return event.data.challenge;
      default:
        return event.type;
    }
  };
  expect(summarise({ ...head, type: 'webhook.disabled', data: { webhook_id: '', reason: 'gone' } })).toBe(
    'gone',
  );
  expect(summarise({ ...head, type: 'invoice.paid', data: {} })).toBe('paid');
});

test('an envelope has the fields of the interface, with data in place of payload', () => {
  type Opened = EnvelopeOf<'incident.opened'>;
  expectTypeOf<keyof Opened>().toEqualTypeOf<
    'id' | 'type' | 'created_at' | 'organization_id' | 'workspace_id' | 'data' | 'test'
  >();
  expectTypeOf<Opened['type']>().toEqualTypeOf<'incident.opened'>();
  expectTypeOf<Opened['data']>().toEqualTypeOf<EnvelopeData['incident.opened']>();
  expectTypeOf<Opened>().toExtend<Envelope>();
});

test('several types make a union of just these types', () => {
  type Either = EnvelopeOf<'invoice.paid' | 'invoice.voided'>;
  expectTypeOf<Either['type']>().toEqualTypeOf<'invoice.paid' | 'invoice.voided'>();
  // @ts-expect-error: there is no such type
  expectTypeOf<EnvelopeOf<'invoice.payed'>>().toBeObject();
  // @ts-expect-error: a required field is missing
  const opened: EnvelopeOf<'incident.opened'> = { ...head, type: 'incident.opened', data: { id: 'INC-1' } };
  expect(opened.test).toBeUndefined();
});
