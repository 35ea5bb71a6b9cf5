import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createResource, moveResource } from '../src/index.js';
import { actor } from './support/lifecycle.js';
import { platformToken, startTestService } from './support/service.js';
import { firstThatRuns, run, snippet, Workshop } from './support/snippets.js';
import { newTenant } from './support/tenant.js';

const page = 'docs/lifecycles.md';
const service = await startTestService();
const tenant = await newTenant(service, { organization_id: 'ORG-demo' });
const workshop = await Workshop.open();
const tools = (await firstThatRuns(['curl'], ['--version'])) && (await firstThatRuns(['jq'], ['--version']));
const owner = new pg.Client({ connectionString: service.databaseUrl });
await owner.connect();
afterAll(() => owner.end());

test('the TypeScript in the guide compiles in strict mode and commits what it prints', async () => {
  const finalize = snippet(page, 'ts', 'moveResource(');
  expect(await workshop.compile({ finalize })).toEqual({ finalize: '' });
  const { code, stdout, stderr } = await run(process.execPath, [workshop.path('finalize.js')], {
    DATABASE_URL: service.databaseUrl,
  });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('invoice.finalized');
  expect(await tenant.events({ type: 'invoice.finalized' })).toMatchObject([
    { payload: { previous_status: 'draft', new_status: 'open', number: '2026-000418' } },
  ]);
});

test('the privileges in the guide, with those for recording, allow a role to create and move', async () => {
  const role = `posthorn_app_${randomBytes(6).toString('hex')}`;
  await owner.query(`create role ${role}`);
  onTestFinished(async () => {
    await owner.query(`reset role; drop owned by ${role}; drop role ${role}`);
  });
  for (const [guide, having] of [
    ['docs/record-events.md', 'grant usage on schema posthorn'],
    [page, 'grant select, insert, update on posthorn.resources'],
  ]) {
    await owner.query(snippet(guide!, 'sql', having!).replaceAll('to app;', `to ${role};`));
  }
  await owner.query(`set role ${role}`);
  const { data } = await createResource(owner, 'tasks', { organization_id: 'ORG-demo', actor });
  const started = await moveResource(owner, 'tasks', data.id, 'start', { actor });
  expect(started.data.status).toBe('in_progress');
  await expect(owner.query('delete from posthorn.resources')).rejects.toThrow('permission denied');
});

describe.runIf(tools)(`the requests of the guide${tools ? '' : ' (skipped: no curl or jq here)'}`, () => {
  async function ask(having: string, id = ''): Promise<string> {
    const line = snippet(page, 'sh', having).replaceAll('http://127.0.0.1:7401', service.platformUrl);
    const env = { PLATFORM_TOKEN: platformToken, LINE: id };
    const { code, stdout, stderr } = await run('sh', ['-c', line], env);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  }

  test('create a line, activate it, and list the moves that are possible then', async () => {
    const { data } = JSON.parse(await ask('"name": "Customer support"'));
    expect(data.status).toBe('draft');
    const event = JSON.parse(await ask('/activate', data.id));
    expect(await tenant.events({ subject_id: data.id })).toEqual([event]);
    expect((await ask('/resume', data.id)).trim()).toBe(snippet(page, 'json', 'Allowed moves: pause').trim());
  });
});
