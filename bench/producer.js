// A thread that records events of one organization as fast as it can until it gets a message. Then it sends back how
// many it has recorded per second.
import { parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import { makeEvent, spread } from './load.js';
import { platformToken } from './node.js';

const { connections, size, platformUrl, fields } = workerData;
const platform = new Pool(platformUrl, { connections });
const body = JSON.stringify(Array.from({ length: size }, () => makeEvent(fields)));
const headers = { authorization: `Bearer ${platformToken}`, 'content-type': 'application/json' };
let [isOver, recorded] = [false, 0];
parentPort.once('message', () => {
  isOver = true;
});

const startedMs = performance.now();
await spread(connections, connections, async () => {
  while (!isOver) {
    const response = await platform.request({ path: '/platform/events', method: 'POST', headers, body });
    const text = await response.body.text();
    if (response.statusCode !== 201) throw new Error(`recording returned ${response.statusCode}: ${text}`);
    recorded += size;
  }
});
await platform.close();
parentPort.postMessage((recorded / (performance.now() - startedMs)) * 1_000);
