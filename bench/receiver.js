// A webhook receiver in its own process. Every path accepts verifications. Deliveries get 200 immediately on `/ok`,
// after three seconds on `/slow`, and after a number of milliseconds on `/after/<ms>`. `/fail` responds with 500.
// `/flaky` responds with 500 to every tenth event, and with 200 to its second attempt. `/hang` never responds, and
// `/fickle` responds with 200 until a message makes it hang. On `/kept`, the receiver also stores the ID of every
// event. It stores how long events on `/timed` and `/after` took to arrive, since `sent_ms` in the payload or else since
// the time in the event, and reports on request what it received.
import { createServer } from 'node:http';

let received = 0;
let delays = [];
let expected = Number.POSITIVE_INFINITY;
let flaky = 0;
let hangs = false;
const failedAt = new Map();
const kept = new Set();

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const arrivedMs = performance.timeOrigin + performance.now();
    if (request.headers['x-service-delivery'] === undefined) {
      response.end();
      return;
    }
    if (request.url === '/hang' || (request.url === '/fickle' && hangs)) return;
    if (request.url === '/fail') {
      response.statusCode = 500;
      response.end();
      return;
    }
    if (request.url === '/flaky' && isFailed(request.headers['webhook-id'], arrivedMs)) {
      response.statusCode = 500;
      response.end();
      return;
    }
    received += 1;
    if (request.url === '/kept') kept.add(request.headers['webhook-id']);
    const ownMs = Number(/^\/after\/(\d+)$/.exec(request.url)?.[1] ?? 0);
    if (request.url === '/timed' || ownMs > 0) {
      const { created_at, data } = JSON.parse(Buffer.concat(chunks).toString());
      delays.push(arrivedMs - (data?.sent_ms ?? Date.parse(created_at)));
    }
    if (request.url === '/slow') setTimeout(() => response.end(), 3_000);
    else if (ownMs > 0) setTimeout(() => response.end(), ownMs);
    else response.end();
    if (received === expected) process.send({ done: true });
  });
});

/**
 * Returns whether to fail this request: the first one of every tenth event. Stores how long the second one took to
 * arrive.
 */
function isFailed(id, nowMs) {
  const atMs = failedAt.get(id);
  if (atMs !== undefined) {
    delays.push(nowMs - atMs);
    return false;
  }
  flaky += 1;
  if (flaky % 10 > 0) return false;
  failedAt.set(id, nowMs);
  return true;
}

server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

process.on('message', ({ expect, report, hang, keep }) => {
  if (hang) hangs = true;
  if (keep) process.send({ kept: [...kept] });
  if (expect !== undefined) {
    received = 0;
    delays = [];
    expected = expect;
    process.send({ ready: true });
  }
  if (report) process.send({ received, delays: delays.map((ms) => Math.round(ms * 10) / 10) });
});

// The process that started this one has ended.
process.on('disconnect', () => process.exit());
