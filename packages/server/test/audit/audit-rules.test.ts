import { describe, expect, test } from 'vitest';
import { auditEntryJson, changesBetween, earliestAuditMs } from '../../src/audit/audit.js';

describe('changes', () => {
  test('are the fields that differ, with what they were before', () => {
    const before = { url: 'https://a.example', event_types: ['*'], status: 'active' };
    const after = { url: 'https://a.example', event_types: ['invoice.*'], status: 'disabled' };
    expect(changesBetween(before, after)).toEqual({
      event_types: { from: ['*'], to: ['invoice.*'] },
      status: { from: 'active', to: 'disabled' },
    });
  });

  test('of a creation come from null, without fields that have no value', () => {
    expect(changesBetween(undefined, { url: 'https://a.example', note: null })).toEqual({
      url: { from: null, to: 'https://a.example' },
    });
  });

  test('of a deletion go to null', () => {
    expect(changesBetween({ url: 'https://a.example' }, undefined)).toEqual({
      url: { from: 'https://a.example', to: null },
    });
  });

  test('treat equal times and lists as equal', () => {
    const at = '2026-11-15T09:30:00.000Z';
    expect(changesBetween({ at: new Date(at), l: [1, 2] }, { at: new Date(at), l: [1, 2] })).toEqual({});
  });
});

describe('12 months', () => {
  test.each([
    ['2026-11-15T09:30:00.123Z', '2025-11-15T09:30:00.123Z'],
    ['2028-03-01T00:00:00.000Z', '2027-03-01T00:00:00.000Z'],
    ['2029-02-28T12:00:00.000Z', '2028-02-28T12:00:00.000Z'],
    ['2028-02-29T12:00:00.000Z', '2027-02-28T12:00:00.000Z'],
    ['2027-01-31T23:59:59.999Z', '2026-01-31T23:59:59.999Z'],
  ])('before %s are %s', (now, oldest) => {
    expect(new Date(earliestAuditMs(Date.parse(now))).toISOString()).toBe(oldest);
  });
});

test('an entry of the API has exactly its fields, and the text of its changes unaltered', () => {
  const json = auditEntryJson({
    id: 'AUD-1',
    organization_id: 'ORG-acme',
    workspace_id: null,
    actor_type: 'user',
    actor_id: 'USR-ada',
    action: 'webhook.updated',
    target_type: 'webhook',
    target_id: 'WHK-1',
    request_id: null,
    source_address: null,
    changes: '{"b":{"from":1.10,"to":2},"a":{"from":null,"to":1}}',
    created_at: new Date('2026-11-15T09:30:00.000Z'),
  });
  expect(json).toContain('"changes":{"b":{"from":1.10,"to":2},"a":{"from":null,"to":1}}');
  expect(Object.keys(JSON.parse(json))).toEqual([
    ...['id', 'organization_id', 'workspace_id', 'actor', 'action', 'target'],
    ...['request_id', 'source_address', 'changes', 'created_at'],
  ]);
});
