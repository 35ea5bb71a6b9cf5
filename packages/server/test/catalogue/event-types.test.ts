import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { beforeAll, describe, expect, it } from 'vitest';
import { sendRequest } from '../support/client.js';
import { makeToken, sharedService } from '../support/service.js';

/** The table of the interface. */
const listed: Record<string, string[]> = {
  service_line: ['activated', 'paused', 'closed', 'status_changed'],
  invoice: ['finalized', 'paid', 'payment_failed', 'voided'],
  incident: ['opened', 'resolved', 'severity_changed'],
  agent: ['run.started', 'run.completed', 'run.failed', 'policy_violated'],
  user: ['invited', 'role_changed', 'deactivated'],
  integration: ['connected', 'sync_failed', 'disconnected'],
  execution: ['blocked', 'resumed'],
  capacity: ['utilisation_warning', 'gap_detected'],
  task: ['created', 'status_changed', 'assigned'],
  webhook: ['delivery_failed', 'verification_failed'],
};

interface EventType {
  type: string;
  description: string;
  schema: { required?: string[]; properties?: Record<string, { type: string }> };
  sample: Record<string, unknown>;
}

describe('GET /v1/event-types', () => {
  let data: EventType[];

  beforeAll(async () => {
    const service = await sharedService();
    const token = await makeToken(service.database, { scopes: ['events:read'] });
    const { status, body } = await sendRequest(`${service.publicUrl}/v1/event-types`, { token });
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['data']);
    data = body.data;
  });

  it('returns {type, description, schema, sample, version} for each type', () => {
    for (const one of data) {
      expect(one).toEqual({
        type: expect.stringMatching(/^[a-z_]+(\.[a-z_]+){1,2}$/),
        description: expect.stringMatching(/\S/),
        schema: expect.objectContaining({ type: 'object' }),
        sample: expect.any(Object),
        version: 1,
      });
    }
  });

  it('has every type of the interface, each once', () => {
    const types = data.map(({ type }) => type);
    expect(new Set(types).size).toBe(types.length);
    const wanted = Object.entries(listed).flatMap(([domain, names]) =>
      names.map((name) => `${domain}.${name}`),
    );
    expect(types).toEqual(expect.arrayContaining(wanted));
  });

  it('returns samples that match their schemas', () => {
    const ajv = new Ajv2020({ allErrors: true });
    addFormats.default(ajv);
    for (const { type, schema, sample } of data) {
      expect(ajv.validate(schema, sample), `${type}: ${ajv.errorsText()}`).toBe(true);
      expect(Object.keys(sample).length, type).toBeGreaterThan(0);
    }
  });

  it.each([
    [
      'service_line.activated',
      { previous_status: 'string', new_status: 'string', execution_model: 'string', product_line: 'string' },
    ],
    [
      'agent.run.completed',
      { service_line_id: 'string', duration_ms: 'integer', tokens_used: 'integer', outcome: 'string' },
    ],
    ['incident.opened', { id: 'string', service_line_id: 'string', severity: 'string', title: 'string' }],
  ])('describes the payload of %s as the interface does', (type, fields) => {
    const { properties = {} } = data.find((one) => one.type === type)?.schema ?? {};
    for (const [name, kind] of Object.entries(fields)) expect(properties[name]).toMatchObject({ type: kind });
  });
});
