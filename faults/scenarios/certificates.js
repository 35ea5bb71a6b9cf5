import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const path = (name) => fileURLToPath(new URL(`../certificates/${name}.pem`, import.meta.url));
const key = readFileSync(path('key'), 'utf8');
const certificate = (name) => readFileSync(path(name), 'utf8');

/** Changes the certificate of receivers to ones that must be rejected, and back. */
export const certificates = {
  name: 'certificates',
  summary: 'certificates that have expired, are self-signed, or were issued for another name',
  shape: () => ({
    nodes: [{ NODE_EXTRA_CA_CERTS: path('trusted') }],
    https: { key, cert: certificate('good') },
    load: { perSecond: 80 },
  }),
  async run(world, random) {
    for (const kind of random.shuffle(['expired', 'self-signed', 'other-name'])) {
      await wait(random.between(300, 800));
      await world.fault(`certificate ${kind}`, async () => {
        await world.receivers.certify(key, certificate(kind));
        const before = await world.receivers.progress();
        await wait(random.between(1_000, 2_000));
        const after = await world.receivers.progress();
        world.expect(
          `nothing is sent to a receiver whose certificate is ${kind}`,
          world.doors.every((door) => after[door] === before[door]),
        );
        await world.receivers.certify(key, certificate('good'));
      });
    }
  },
};
