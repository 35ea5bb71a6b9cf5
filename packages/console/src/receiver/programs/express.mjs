import express from 'express';
// See is-valid.mjs.

const app = express();
// Before express.json(), which would discard the raw bytes.
const raw = express.raw({ type: '*/*', limit: '10mb' });
app.post('/webhooks', raw, (req, res) => {
  if (!isValid(req.body, req.headers))
    return res.status(401).send('invalid signature');
  const event = JSON.parse(req.body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  res.sendStatus(200);
});
app.listen(3000);
