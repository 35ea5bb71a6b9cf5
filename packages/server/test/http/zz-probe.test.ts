import http from 'node:http';
import net from 'node:net';
import { it } from 'vitest';
import { ask, event, record } from '../support/client.js';
import { makeToken, platformToken, startTestService } from '../support/service.js';

function raw(url: string, text: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), hostname, () => socket.write(text));
    let got = '';
    socket.on('data', (chunk) => (got += chunk));
    socket.on('close', () => resolve(got));
    socket.on('error', (e) => resolve(got + ' ERR ' + e));
    setTimeout(() => socket.destroy(), 1500);
  });
}
it('probe', async () => {
  const service = await startTestService();
  const token = await makeToken(service.database);
  const [one] = await record(service, event({ payload: { note: 'x'.repeat(3000) } }));
  const p = service.publicUrl;
  const show = (name: string, a: any) => console.log(name, a.status, a.text?.slice(0, 300), JSON.stringify(Object.fromEntries(a.headers)));
  const L = `${p}/v1/events?organization_id=ORG-acme`;
  show('asc negative', await ask(`${L}&order=asc&to=1960-01-01`, { token }));
  show('to year0', await ask(`${L}&order=desc&to=0000-01-01`, { token }));
  show('to 9999', await ask(`${L}&order=asc&from=9999-12-31T23:59:59-23:59`, { token }));
  show('future id', await ask(`${p}/v1/events/EVT-7ZZZZZZZZZZZZZZZZZZZZZZZZZ`, { token }));
  show('0 id', await ask(`${p}/v1/events/EVT-00000000000000000000000000`, { token }));
  show('long id', await ask(`${p}/v1/events/${'x'.repeat(700)}`, { token }));
  show('long id del', await ask(`${p}/v1/events/${'x'.repeat(700)}`, { token, method: 'DELETE' }));
  show('bad pct', await ask(`${p}/v1/events/%ZZ`, { token }));
  show('pct post', await ask(`${p}/v1/%65vents`, { token, method: 'POST' }));
  show('trailing', await ask(`${p}/v1/events/`, { token }));
  for (const m of http.METHODS) {
    if (m === 'CONNECT') continue;
    const r = await raw(p, `${m} /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    console.log(m, r.split('\r\n')[0], /allow: .*/i.exec(r)?.[0]);
  }
  console.log('CONNECT', await raw(p, `CONNECT /v1/events HTTP/1.1\r\nHost: x\r\n\r\n`));
  console.log('FOO', await raw(p, `FOO /v1/events HTTP/1.1\r\nHost: x\r\n\r\n`));
  console.log('nohost', await raw(p, `GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n`));
  console.log('expect', await raw(p, `GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: foo\r\nConnection: close\r\n\r\n`));
  console.log('upgrade', await raw(p, `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`));
  console.log('abs', await raw(p, `GET http://x/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  console.log('absdel', await raw(p, `DELETE http://x/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  console.log('garbage', await raw(p, `\x16\x03\x01garbage\r\n\r\n`));
  console.log('huge', (await raw(p, `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20000)}\r\nConnection: close\r\n\r\n`)));
  console.log('hugeurl', (await raw(p, `GET /${'a'.repeat(20000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)));
  console.log('star', await raw(p, `OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  console.log('http1.0', await raw(p, `GET /healthz HTTP/1.0\r\n\r\n`));
  console.log('badchunk', await raw(service.platformUrl, `POST /platform/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${platformToken}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`));
  const post = (headers: any, body: any) => ask(`${service.platformUrl}/platform/events`, { method: 'POST', token: platformToken, headers: { 'content-type': 'application/json', ...headers }, raw: body });
  show('ce foo', await post({ 'content-encoding': 'foo' }, '{}'));
  show('ce gzip bad', await post({ 'content-encoding': 'gzip' }, '{}'));
  show('get ce', await ask(L, { token, headers: { 'content-encoding': 'gzip' } }));
  show('get ce foo', await ask(L, { token, headers: { 'content-encoding': 'foo' } }));
  const e = JSON.stringify(event({ payload: 0 }));
  show('dup nul', await post({}, e.replace('"payload":0', '"payload":{"a":"\\u0000","a":1}')));
  show('dup surr', await post({}, e.replace('"payload":0', '"payload":{"a":"\\ud800","a":1}')));
  show('dup deep', await post({}, e.replace('"payload":0', `"payload":{"a":${'['.repeat(20000)}${']'.repeat(20000)},"a":1}`)));
  show('deep', await post({}, e.replace('"payload":0', `"payload":{"a":${'['.repeat(20000)}${']'.repeat(20000)}}`)));
  show('megadeep', await post({}, '['.repeat(4_000_000) + ']'.repeat(4_000_000)));
  show('emptybody', await post({}, ''));
  show('413', await post({}, 'x'.repeat(8 * 1024 * 1024 + 1)).catch((e) => ({ status: 0, text: String(e.cause), headers: [] })));
  const head = (m: string, enc: string, path: string) => new Promise<void>((resolve) => http.request(p + path, { method: m, headers: { authorization: `Bearer ${token}`, 'accept-encoding': enc } }, (r) => { console.log(m, enc, r.statusCode, JSON.stringify(r.headers)); r.resume(); r.on('end', () => resolve()); }).end());
  for (const m of ['GET', 'HEAD']) for (const enc of ['', 'gzip']) await head(m, enc, `/v1/events/${one!.id}`);
  for (const m of ['GET', 'HEAD']) for (const enc of ['', 'gzip']) await head(m, enc, `/v1/events?organization_id=ORG-acme`);
  console.log((await ask(`${p}/openapi.json`)).text.slice(0, 12000));
});
