import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sendRequest } from '../../packages/server/test/support/client.js';
import { root } from '../../packages/server/test/support/docs.js';
import { platformToken, startTestService } from '../../packages/server/test/support/service.js';
import { freePort, Server, snippet } from '../../packages/server/test/support/snippets.js';

const file = join(root, 'examples/portal/server.mjs');

test('the portal example shows the portal in a frame, signed in for its organization', async () => {
  const port = await freePort();
  const service = await startTestService({ POSTHORN_PORTAL_ORIGINS: `http://127.0.0.1:${port}` });
  const env = { PORT: String(port), PLATFORM: service.platformUrl, PLATFORM_TOKEN: platformToken };
  const page = new Server(process.execPath, [file], env);
  await page.isListening(port);

  const { status, text, headers } = await sendRequest(`http://127.0.0.1:${port}/`);
  expect([status, headers.get('cache-control')], page.output).toEqual([200, 'no-store']);
  const [, url = '', token = ''] = /<iframe .*src="([^"#]+)#token=([^"]+)"/.exec(text) ?? [];
  expect(url).toBe(`${service.publicUrl}/console`);
  const framed = await sendRequest(url);
  expect(framed.headers.get('content-security-policy')).toContain(
    `frame-ancestors http://127.0.0.1:${port};`,
  );
  const who = await sendRequest(`${service.publicUrl}/v1/token`, { token });
  expect(who.body.data).toMatchObject({
    organization_id: 'ORG-demo',
    actor: { type: 'user', id: 'USR-ada' },
    portal: true,
  });
});

test('the program of the portal guide is the example', async () => {
  expect(snippet('docs/portal.md', 'js', 'portal-sessions')).toBe(await readFile(file, 'utf8'));
});
