import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { afterFile } from '../test/support/cleanup.js';
import { root } from '../test/support/docs.js';
import { freePort, snippet } from '../test/support/snippets.js';
import { eventually } from '../test/support/tenant.js';
import { type Program, Project, warnings } from './project.js';

const page = 'docs/quickstart.md';
const [port, platformPort, receiverPort] = [await freePort(), await freePort(), await freePort()];
const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-quickstart-'));
afterFile(() => rm(dataDir, { recursive: true, force: true }));

/** The one block with this text, as it is on the page but for ports and for where the service keeps its data. */
const block = (language: string, having: string) =>
  snippet(page, language, having)
    .replaceAll('7400', String(port))
    .replaceAll('7401', String(platformPort))
    .replaceAll('3000', String(receiverPort))
    .replaceAll('$POSTHORN/.posthorn', dataDir)
    .replaceAll('export POSTHORN=/path/to/posthorn', `export POSTHORN='${root}'`);

it('leads from an empty directory to a verified event, a broken secret, its reason, and a redelivery', async () => {
  const project = await Project.open();
  const env = { POSTHORN: root, XDG_CONFIG_HOME: join(dataDir, 'config') };
  const terminal = async (having: string) => {
    const ended = await project.shell(block('sh', having), env);
    return { ...ended, printed: ended.stdout + ended.stderr };
  };
  const prints = (program: Program, text: string) =>
    eventually(
      async () => program.output,
      (output) => output.includes(text),
    );
  const receive = async (secret: string) => {
    const receiver = project.start(block('sh', `WEBHOOK_SECRET=${secret}`).trim(), env);
    await eventually(() => fetch(`http://127.0.0.1:${receiverPort}/`));
    return receiver;
  };

  const service = project.start(
    `node '${join(root, 'packages/server/bin/posthorn.js')}' serve --allow-loopback`,
    {
      ...{
        POSTHORN_DATA_DIR: dataDir,
        POSTHORN_PORT: String(port),
        POSTHORN_PLATFORM_PORT: String(platformPort),
      },
    },
  );
  await prints(service, 'Posthorn is ready.');

  const installed = await terminal('npm pack');
  expect(installed.code, installed.printed).toBe(0);
  expect(warnings(installed)).toEqual([]);
  expect(installed.stdout).toContain(`Logged in to http://127.0.0.1:${port} for ORG-demo`);

  await project.write('receiver.mjs', block('js', 'createReceiver'));
  let receiver = await receive('quickstart-secret-1');
  const listener = project.start(block('sh', 'posthorn listen').trim(), env);
  await prints(listener, 'Listening for');
  await terminal('/platform/events');
  await prints(receiver, 'INV-2042 is paid\n');
  await prints(listener, '200 in ');

  await receiver.stop();
  receiver = await receive('not-the-secret-1');
  await terminal('/platform/events');
  await prints(listener, 'signature_mismatch: The secret is not');
  const verified = await terminal('posthorn verify');
  expect(verified).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Not verified (signature_mismatch)'),
  });

  await receiver.stop();
  receiver = await receive('quickstart-secret-1');
  const sentAgain = await terminal('posthorn trigger');
  expect(sentAgain.code, sentAgain.printed).toBe(0);
  await prints(receiver, 'INV-2042 is paid\n');

  await listener.stop();
  const created = await terminal('webhooks create');
  expect(created.code, created.printed).toBe(0);
  await terminal('/platform/events');
  await prints(receiver, 'INV-2042 is paid\nINV-2042 is paid\n');
  await eventually(
    () => terminal('deliveries list --limit 1\n'),
    ({ stdout }) => stdout.includes('success'),
  );
  const redelivered = await terminal('deliveries redeliver');
  expect(redelivered.code, redelivered.printed).toBe(0);
});
