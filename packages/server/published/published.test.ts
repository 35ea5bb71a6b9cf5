import { describe, expect, it } from 'vitest';
import { packAll, withOurDependencies } from '../test/support/packages.js';
import type { Ended } from '../test/support/process.js';
import { freePort, snippet } from '../test/support/snippets.js';
import { eventually } from '../test/support/tenant.js';
import { Project, warnings } from './project.js';

const all = await packAll();

/** Installs a package of ours, those that it needs, and others from the registry. Returns what npm said. */
async function install(project: Project, name: string, ...others: string[]): Promise<Ended> {
  await project.write('package.json', '{"private":true,"type":"module"}');
  const tarballs = withOurDependencies(all, name).map(({ tarball }) => tarball);
  const ended = await project.shell('npm install --prefer-offline "$@"', {}, [...tarballs, ...others]);
  expect(ended.code, ended.stderr).toBe(0);
  return ended;
}

describe('a new project', () => {
  it.each(['@posthorn/receiver', '@posthorn/client'])('gets %s and nothing else', async (name) => {
    const project = await Project.open();
    expect(warnings(await install(project, name))).toEqual([]);
    expect(await project.packages()).toEqual([name]);
  });

  it('gets the command line without the server, and learns how to run that', async () => {
    const project = await Project.open();
    expect(warnings(await install(project, 'posthorn'))).toEqual([]);
    const packages = await project.packages();
    for (const name of ['@posthorn/server', 'pg', 'fastify']) expect(packages).not.toContain(name);
    expect((await project.shell('npx posthorn --version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const { code, stderr } = await project.shell('npx posthorn serve');
    expect(code).toBe(1);
    expect(stderr).toContain('In a checkout of Posthorn, run npm ci, then npx posthorn serve.');
  });

  it('receives events with the first example of @posthorn/receiver', async () => {
    const project = await Project.open();
    expect(warnings(await install(project, '@posthorn/receiver', 'express'))).toEqual([]);
    const port = await freePort();
    const example = snippet('packages/receiver/README.md', 'js', 'createReceiver({');
    await project.write('receiver.js', example.replace('3000', `${port}, '127.0.0.1'`));
    const secret = 'a-secret-of-the-project';
    const receiver = project.start('node receiver.js', { WEBHOOK_SECRET: secret });
    await project.write(
      'send.js',
      `import { signedRequest } from '@posthorn/receiver/testing';
      const request = signedRequest('invoice.paid', { secret: '${secret}', data: { id: 'INV-7' } });
      console.log((await fetch('http://127.0.0.1:${port}/webhooks', request)).status);`,
    );
    await eventually(
      () => project.shell('node send.js'),
      ({ stdout }) => stdout === '200\n',
    );
    expect(receiver.output).toBe('INV-7 is paid\n');
  });

  it('runs the service, records an event and reads it with @posthorn/client', async () => {
    const project = await Project.open();
    expect(warnings(await install(project, '@posthorn/server'))).toEqual([]);
    const [port, platformPort] = [await freePort(), await freePort()];
    const ports = { POSTHORN_PORT: String(port), POSTHORN_PLATFORM_PORT: String(platformPort) };
    const service = project.start('npx posthorn serve --allow-loopback', ports);
    await eventually(
      async () => service.output,
      (text) => text.includes('Posthorn is ready.'),
    );
    const commands = snippet('packages/server/README.md', 'sh', '/platform/events')
      .replace('7400', String(port))
      .replace('7401', String(platformPort));
    const { stdout, stderr } = await project.shell(commands);
    expect(stdout, stderr).toMatch(/"type":"invoice\.paid".*"id":"INV-2042"/);
    await project.write('first.js', snippet('packages/client/README.md', 'js', 'posthorn.events.list'));
    const read = await project.shell('POSTHORN_TOKEN=$(cat .posthorn/demo-token) node first.js', {
      POSTHORN_URL: `http://127.0.0.1:${port}`,
    });
    expect(read.stdout, read.stderr).toMatch(/ invoice\.paid INV-2042\n/);
    const page = await fetch(`http://127.0.0.1:${port}/console/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  });
});
