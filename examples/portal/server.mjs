import { createServer } from 'node:http';

createServer((request, response) => {
  show(request, response).catch((error) => response.writeHead(502).end(error.message));
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');

async function show(request, response) {
  if (request.url !== '/') return response.writeHead(404).end();
  const session = await fetch(`${process.env.PLATFORM}/platform/portal-sessions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${process.env.PLATFORM_TOKEN}`, 'Content-Type': 'application/json' },
    // Take both values from your own user session: who is signed in, and their organization.
    body: JSON.stringify({ organization_id: 'ORG-demo', actor: { type: 'user', id: 'USR-ada' } }),
  });
  if (!session.ok) return response.writeHead(502).end(await session.text());
  const { data } = await session.json();
  response.writeHead(200, { 'Content-Type': 'text/html', 'Cache-Control': 'no-store' });
  response.end(`<!doctype html><title>Webhooks</title><body style="margin: 0">
    <iframe title="Webhooks" src="${data.url}" allow="clipboard-write"
      style="border: 0; width: 100%; height: 100vh"></iframe>`);
}
