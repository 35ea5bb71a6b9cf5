// A webhook receiver in a process of its own. It answers 200 to everything on `/ok`, hangs on `/hang` and
// answers 500 on `/fail` (but verifies everywhere), and tells its parent what it saw when asked.
import { createServer } from 'node:http';

let received = 0;
let delays = [];
let expected = Number.POSITIVE_INFINITY;

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const arrivedMs = Date.now();
    if (request.headers['x-service-delivery'] === undefined && request.headers['x-raw'] === undefined) {
      response.end();
      return;
    }
    if (request.url === '/hang') return;
    if (request.url === '/fail') {
      response.statusCode = 500;
      response.end();
      return;
    }
    received += 1;
    if (request.url === '/timed') {
      delays.push(arrivedMs - Date.parse(JSON.parse(Buffer.concat(chunks).toString()).created_at));
    }
    response.end();
    if (received === expected) process.send({ done: true });
  });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

process.on('message', ({ expect, report }) => {
  if (expect !== undefined) {
    received = 0;
    delays = [];
    expected = expect;
    process.send({ ready: true });
  }
  if (report) process.send({ received, delays });
});
