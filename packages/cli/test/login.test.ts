import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { sharedService } from '../../server/test/support/service.js';
import { freePort } from '../../server/test/support/snippets.js';
import { newTenant, type Tenant } from '../../server/test/support/tenant.js';
import { main } from '../src/main.js';
import { freshDirectory, Pipe, printing, run } from './support/cli.js';

const service = await sharedService();
const url = service.publicUrl;

let tenant: Tenant;
let env: Record<string, string>;
let file: string;
beforeEach(async () => {
  tenant = await newTenant(service);
  const directory = await freshDirectory();
  env = { XDG_CONFIG_HOME: directory };
  file = join(directory, 'posthorn', 'profiles.json');
});

const organizationOf = async (more: Record<string, string> = {}, ...args: string[]) =>
  JSON.parse(await printing({ ...env, ...more })('whoami', '--json', ...args)).organization_id;

describe('login', () => {
  test('reads the token from standard input and stores it in a file that only its owner can read', async () => {
    const { code, stdout } = await run(['login', '--url', url], env, `${tenant.token}\n`);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `Logged in to ${url} for ${tenant.organization}, as profile 'default'.\n`,
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      current: 'default',
      profiles: { default: { url, token: tenant.token } },
    });
    expect(await organizationOf()).toBe(tenant.organization);
  });

  test.each<[string, (link: string) => readonly string[], (link: string) => string]>([
    ['as its argument', (link) => [link], () => ''],
    ['as the URL', (link) => ['--url', link], () => ''],
    ['on standard input', () => [], (link) => `${link}\n`],
    [
      'on standard input, with a URL of its own',
      () => ['--url', url],
      () => `http://other.example/console#token=${tenant.token}`,
    ],
  ])('accepts the link to the console %s', async (_place, args, input) => {
    const link = `${url}/console/webhooks#token=${tenant.token}`;
    const { code, stdout, stderr } = await run(['login', ...args(link)], env, input(link));
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: `Logged in to ${url} for ${tenant.organization}, as profile 'default'.\n`,
    });
    expect(await organizationOf()).toBe(tenant.organization);
  });

  test.each([
    ['login', 'x'],
    ['login', '--url'],
    ['whoami', '--url'],
    ['whoami'],
    ['nonsense'],
    ['login', '--'],
  ])('a token in the wrong place is not printed: %s %s', async (...args) => {
    for (const secret of [tenant.token, `ftp://x/console#token=${tenant.token}`]) {
      const { code, stdout, stderr } = await run([...args, secret], env);
      expect(code).toBe(2);
      expect(stdout + stderr).not.toContain(tenant.token);
    }
  });

  test.each([true, false])(
    'never shows a token that is typed, even if its output is redirected (standard error is a terminal: %s)',
    async (isTerminal) => {
      const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
      const [stdout, stderr] = [new Pipe(), new Pipe()];
      Object.assign(stderr, { isTTY: isTerminal, columns: 80 });
      const ended = main(['login', '--url', url], env, { stdin, stdout, stderr }, async () => undefined);
      if (isTerminal) {
        await vi.waitFor(() => expect(stderr.text).toContain('Access token'), { timeout: 30_000 });
        stdin.write(`${tenant.token}\r`);
      }
      expect(await ended, stderr.text).toBe(isTerminal ? 0 : 1);
      expect(stdout.text + stderr.text).not.toContain(tenant.token);
      expect(stdout.text).toMatch(isTerminal ? /^Logged in to / : /^$/);
      if (!isTerminal) expect(stderr.text).toMatch(/^Cannot prompt for the token .*\n$/);
    },
  );

  test('stores nothing if the service does not accept the token', async () => {
    const { code, stderr } = await run(['login', '--url', url], env, 'pht_unknown');
    expect(code).toBe(1);
    expect(stderr).toContain('posthorn login again');
    await expect(stat(file)).rejects.toThrow();
  });

  test.each(['login', 'webhooks list'])(
    '%s with a token that cannot be sent fails at once, in one line without the token',
    async (command) => {
      const args = [...command.split(' '), '--url', url, '--token', 'pht_50Fg…'];
      expect(await run(args, env)).toMatchObject({
        ...{ code: 2, stdout: '' },
        stderr:
          'The token contains a character that is not allowed in a token. Copy the whole token, then run posthorn login again.\n',
      });
      await expect(stat(file)).rejects.toThrow();
    },
  );

  test('with a URL that contains a password fails at once, in one line without the password', async () => {
    const withPassword = url.replace('://', '://ada:hunter2@');
    expect(await run(['login', '--url', withPassword], env, tenant.token)).toMatchObject({
      ...{ code: 2, stdout: '' },
      stderr:
        'The URL contains a username or a password. Remove it: requests are authenticated with the access token only.\n',
    });
  });

  test('at another service fails with the URL, as other commands do', async () => {
    const other = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const detail = 'The response with status 200 did not come from Posthorn. Check the URL.';
    const failure = { code: 1, stdout: '' };
    const args = ['--url', otherUrl, '--token', tenant.token];
    for (const command of ['login', 'whoami'])
      expect(await run([command, ...args], env)).toEqual({ ...failure, stderr: `${otherUrl}: ${detail}\n` });
    expect(await run(['webhooks', 'list', ...args], env)).toEqual({
      ...failure,
      stderr: `${detail} Run posthorn whoami to see the URL in use.\n`,
    });
  });

  test('at an address where nothing listens fails with that address and the reason', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    await run(['login', '--url', url], env, tenant.token);
    expect(await run(['login', '--url', `http://${address}`], env, tenant.token)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `There was no response from http://${address}: connect ECONNREFUSED ${address}. ` +
        'Check that the URL is correct and that the service is running.\n',
    });
    expect(await organizationOf()).toBe(tenant.organization);
  });

  test('at the platform listener fails with the address of the public API', async () => {
    const { code, stderr } = await run(['login', '--url', service.platformUrl], env, tenant.token);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        `Nothing exists at this path. This is the platform listener. The public API is at ${url}. ` +
        'Run posthorn login --url with the address of the public API.\n',
    });
    await expect(stat(file)).rejects.toThrow();
  });

  test('keeps several profiles; --profile chooses one, and logout removes one', async () => {
    const other = await newTenant(service);
    await run(['login', '--url', url], env, tenant.token);
    await run(['login', '--url', url, '--profile', 'other'], env, other.token);
    expect(await organizationOf()).toBe(other.organization);
    expect(await organizationOf({}, '--profile', 'default')).toBe(tenant.organization);
    expect((await run(['logout'], env)).stdout).toBe("Removed profile 'other'.\n");
    expect(await organizationOf()).toBe(tenant.organization);
    expect((await run(['whoami', '--profile', 'other'], env)).stderr).toContain(
      'posthorn login --profile other',
    );
    const inherited = ['--profile', 'constructor'];
    expect((await run(['whoami', ...inherited], env)).stderr).toBe(
      "There is no profile 'constructor'. Run posthorn login --profile constructor.\n",
    );
    expect((await run(['logout', ...inherited], env)).stderr).toContain('No profile was removed.');
  });
});

test.each(['', '[]', '{}', 'null', '{"current": "default", "profiles": {"default": "pht_1"}}'])(
  'a file of profiles with the content %j is reported with the next step',
  async (content) => {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    expect(await run(['whoami'], env)).toMatchObject({
      code: 1,
      stderr: `${file} does not contain profiles. Delete it, then run posthorn login.\n`,
    });
  },
);

describe('the connection', () => {
  test('comes from options before the environment, and from the environment before the profile', async () => {
    const [second, third] = [await newTenant(service), await newTenant(service)];
    await run(['login', '--url', url], env, tenant.token);
    const inEnvironment = { POSTHORN_URL: url, POSTHORN_TOKEN: second.token };
    expect(await organizationOf(inEnvironment)).toBe(second.organization);
    expect(await organizationOf(inEnvironment, '--token', third.token)).toBe(third.organization);
    expect(await organizationOf(inEnvironment, '--profile', 'default')).toBe(tenant.organization);
  });

  test('names the option or the variable that a rejected token comes from, because a login would not replace it', async () => {
    await run(['login', '--url', url], env, tenant.token);
    const stale = { ...env, POSTHORN_URL: url, POSTHORN_TOKEN: 'pht_stale' };
    const next = async (...args: string[]) => (await run(['webhooks', 'list', ...args], stale)).stderr;
    expect(await next()).toMatch(/ The token comes from POSTHORN_TOKEN: correct or unset it\.\n$/);
    expect(await next('--token', 'pht_typo')).toMatch(/ The token comes from --token: correct it\.\n$/);
    expect(await next('--profile', 'default')).toBe('');
    await writeFile(file, (await readFile(file, 'utf8')).replace(tenant.token, 'pht_stale'));
    expect(await next('--profile', 'default')).toMatch(/ Run posthorn login to store a valid token\.\n$/);
  });

  test('of a new profile is not used if a variable overrides it, and login says so', async () => {
    const set = { ...env, POSTHORN_URL: url, POSTHORN_TOKEN: 'pht_stale' };
    const { code, stderr } = await run(['login'], set, tenant.token);
    const overrides = 'is set and overrides the stored profile. Unset it to use the profile.\n';
    expect({ code, stderr }).toEqual({
      ...{ code: 0, stderr: `POSTHORN_URL ${overrides}POSTHORN_TOKEN ${overrides}` },
    });
  });

  test('never sends the token of a profile to another URL', async () => {
    await run(['login', '--url', url], env, tenant.token);
    const { code, stderr } = await run(['whoami', '--url', 'http://127.0.0.1:1'], env);
    expect(code).toBe(1);
    expect(stderr).toContain('There is no token for http://127.0.0.1:1. Run posthorn login');
  });

  test('without a login, the failure names the command to run', async () => {
    const { code, stderr } = await run(['webhooks', 'list'], env);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'There is no token for http://127.0.0.1:7400. Run posthorn login --url http://127.0.0.1:7400, or set POSTHORN_TOKEN.\n',
    });
  });
});
