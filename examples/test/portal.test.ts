import { expect, test } from 'vitest';
import { ask } from './support/client.js';
import { platformToken, startTestService } from './support/service.js';
import { freePort, Server, snippet } from './support/snippets.js';

test('the page of the guide shows the portal in a frame, signed in for its organization', async () => {
  const port = await freePort();
  const service = await startTestService({ POSTHORN_PORTAL_ORIGINS: `http://127.0.0.1:${port}` });
  const source = snippet('docs/portal.md', 'js', 'portal-sessions').replace('3000', String(port));
  const env = { PLATFORM: service.platformUrl, PLATFORM_TOKEN: platformToken };
  const page = new Server(process.execPath, ['--input-type=module', '-e', source], env);
  await page.isListening(port);

  const { status, text, headers } = await ask(`http://127.0.0.1:${port}/`);
  expect([status, headers.get('cache-control')], page.output).toEqual([200, 'no-store']);
  const [, url = '', token = ''] = /<iframe .*src="([^"#]+)#token=([^"]+)"/.exec(text) ?? [];
  expect(url).toBe(`${service.publicUrl}/console`);
  const framed = await ask(url);
  expect(framed.headers.get('content-security-policy')).toContain(
    `frame-ancestors http://127.0.0.1:${port};`,
  );
  const who = await ask(`${service.publicUrl}/v1/token`, { token });
  expect(who.body.data).toMatchObject({
    organization_id: 'ORG-demo',
    actor: { type: 'user', id: 'USR-ada' },
    portal: true,
  });
});
