import { serve } from '@hono/node-server';
import { Hono } from 'hono';
// See is-valid.mjs.

const app = new Hono();
app.post('/webhooks', async (c) => {
  const body = Buffer.from(await c.req.arrayBuffer());
  if (!isValid(body, c.req.header()))
    return c.text('invalid signature', 401);
  const event = JSON.parse(body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  return c.body(null, 200);
});
serve({ fetch: app.fetch, port: 3000 });
