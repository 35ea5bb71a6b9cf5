import Fastify from 'fastify';
// See is-valid.mjs.

const app = Fastify({ bodyLimit: 10 * 1024 * 1024 });
// The raw bytes, not parsed JSON.
app.addContentTypeParser(
  'application/json',
  { parseAs: 'buffer' },
  (req, body, done) => done(null, body),
);
app.post('/webhooks', async (req, reply) => {
  if (!isValid(req.body, req.headers))
    return reply.code(401).send('invalid signature');
  const event = JSON.parse(req.body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  return reply.code(200).send();
});
await app.listen({ port: 3000 });
