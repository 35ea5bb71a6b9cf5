import { beforeAll, describe, expect, it } from 'vitest';
import { ask, event, record } from './support/client.js';
import { makeToken, startTestService, type TestService } from './support/service.js';

describe('GET /v1/events', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await startTestService();
    token = await makeToken(service.database);
  });

  it('gives events newest first, with a cursor that leads through all of them once', async () => {
    const recorded = await record(
      service,
      ...Array.from({ length: 60 }, () => event({ subject: { type: 'run', id: 'RUN-page' } })),
    );
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const { body, status } = await ask(
        `${service.publicUrl}/v1/events?organization_id=ORG-acme&subject_id=RUN-page${cursor && `&cursor=${cursor}`}`,
        { token },
      );
      expect(status).toBe(200);
      seen.push(...body.data.map((one: { id: string }) => one.id));
      if (!body.meta.has_more) break;
      cursor = body.meta.cursor;
    }
    expect(seen).toEqual(recorded.map(({ id }) => id).reverse());
  });

  it('keeps the key order and the numbers of a payload', async () => {
    const payload = '{ "b": 1.10, "1": 12345678901234567890, "a": [1e400, 0.1000] }';
    const raw = JSON.stringify(event({ payload: 0, subject: { type: 'run', id: 'RUN-raw' } })).replace(
      '"payload":0',
      `"payload":${payload}`,
    );
    const answer = await ask(`${service.platformUrl}/platform/events`, {
      method: 'POST',
      token: 'platform-token-of-the-tests',
      headers: { 'content-type': 'application/json' },
      raw,
    });
    expect(answer.status).toBe(201);
    const one = await ask(`${service.publicUrl}/v1/events/${answer.body.data[0].id}`, { token });
    expect(one.text).toContain(`"payload":${payload}`);
  });
});
