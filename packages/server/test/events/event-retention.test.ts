import { beforeEach, describe, expect, it } from 'vitest';
import { event, record, sendRequest } from '../support/client.js';
import { makeToken, startTestService, type TestService } from '../support/service.js';
import { Tail } from '../support/tail.js';

const retentionMs = 90 * 86_400_000;

describe('an event is kept 90 days, to the millisecond', () => {
  let service: TestService;
  let token: string;
  let oldest: { id: string; created_at: string };
  let newest: { id: string; created_at: string };

  beforeEach(async () => {
    service ??= await startTestService();
    service.clock.stoppedAtMs = undefined;
    token ??= await makeToken(service.database, { expires_at: new Date(Date.now() + 2 * retentionMs) });
    const subject = { type: 'run', id: 'RUN-age' };
    await service.database.query({ text: 'truncate posthorn.events' });
    [oldest] = (await record(service, event({ subject }))) as [typeof oldest];
    await service.database.query({ text: 'select pg_sleep(0.005)' });
    [newest] = (await record(service, event({ subject }))) as [typeof newest];
  });

  /** Stops the service's clock when the oldest event is 90 days and so many milliseconds old. */
  function age(ms: number): void {
    service.clock.stoppedAtMs = Date.parse(oldest.created_at) + retentionMs + ms;
  }

  const ids = async (query = '') => {
    const { body } = await sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme${query}`, {
      token,
    });
    return body.data.map((one: { id: string }) => one.id);
  };

  const statusOf = async (id: string) =>
    (await sendRequest(`${service.publicUrl}/v1/events/${id}`, { token })).status;

  it('is listed when exactly 90 days old and gone a millisecond later', async () => {
    age(0);
    expect(await ids()).toEqual([newest.id, oldest.id]);
    expect(await ids('&order=asc')).toEqual([oldest.id, newest.id]);
    expect(await ids('&subject_id=RUN-age&from=2000-01-01')).toEqual([newest.id, oldest.id]);
    age(1);
    expect(await ids()).toEqual([newest.id]);
    expect(await ids('&order=asc')).toEqual([newest.id]);
    expect(await ids('&subject_id=RUN-age&from=2000-01-01')).toEqual([newest.id]);
  });

  it('can be read by its id when exactly 90 days old and is 404 a millisecond later', async () => {
    age(0);
    expect(await statusOf(oldest.id)).toBe(200);
    age(1);
    expect(await statusOf(oldest.id)).toBe(404);
    expect(await statusOf(newest.id)).toBe(200);
  });

  it('is missing from the page after a cursor, too', async () => {
    const first = await sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme&limit=1`, {
      token,
    });
    const next = `&limit=1&cursor=${first.body.meta.cursor}`;
    age(0);
    expect(await ids(next)).toEqual([oldest.id]);
    age(1);
    expect(await ids(next)).toEqual([]);
  });

  it('does not count for has_more after its retention', async () => {
    const more = async () =>
      (await sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme&limit=1`, { token })).body
        .meta.has_more;
    age(0);
    expect(await more()).toBe(true);
    age(1);
    expect(await more()).toBe(false);
  });

  it('is not sent by a tail that starts before it', async () => {
    const before = 'EVT-00000000000000000000000000';
    age(0);
    const whole = await Tail.open(service, token, { lastEventId: before });
    expect((await whole.take(2)).map(({ id }) => id)).toEqual([oldest.id, newest.id]);
    whole.close();
    age(1);
    const rest = await Tail.open(service, token, { lastEventId: before });
    expect((await rest.next()).id).toBe(newest.id);
    rest.close();
  });

  it('leaves a cursor usable even if everything before it is gone', async () => {
    const first = await sendRequest(`${service.publicUrl}/v1/events?organization_id=ORG-acme&order=asc`, {
      token,
    });
    service.clock.stoppedAtMs = Date.parse(newest.created_at) + retentionMs + 1;
    expect(await ids(`&order=asc&cursor=${first.body.meta.cursor}`)).toEqual([]);
  });
});
