import { describe, expect, test } from 'vitest';
import { scopes } from '../../src/access/token.js';
import { type ProblemCode, problems } from '../../src/values/problem.js';
import { namesBelow, readPage } from '../support/docs.js';
import { readDocument, readOperations } from '../support/operations.js';
import { startTestService } from '../support/service.js';
import { snippet } from '../support/snippets.js';
import { newTenant } from '../support/tenant.js';

const service = await startTestService({
  POSTHORN_RETRY_SCHEDULE: '7s,90m,1h,2d',
  POSTHORN_DELIVERY_TIMEOUT: '4s',
  POSTHORN_RATE_LIMIT_READS: '1234',
});
const guides = await guidesOf(service.publicUrl);

async function guidesOf(url: string): Promise<Record<string, string>> {
  const { tags } = await readDocument(url);
  return Object.fromEntries(tags.map(({ name, description }) => [name, description]));
}

describe.each([
  ['public API', service.publicUrl],
  ['platform API', service.platformUrl],
])('the errors guide of the %s', async (_name, url) => {
  const { Errors: guide = '' } = await guidesOf(url);
  const operations = await readOperations(url);

  test('explains the codes that its operations can return, and no others', () => {
    const explained = [...guide.matchAll(/^\| `([a-z_]+)` \| (\d+) \| (.*) \|$/gm)];
    const named = operations
      .flatMap(({ responses }) => Object.entries(responses))
      .filter(([status]) => Number(status) >= 400)
      .flatMap(([, { description }]) => [...description.matchAll(/`([a-z_]+)`: /g)].map(([, code]) => code!));
    const ofAnyPath = ['malformed_request', 'method_not_allowed', 'not_found'];
    expect(new Set(explained.map(([, code]) => code))).toEqual(new Set([...named, ...ofAnyPath]));
    for (const [, code, status, meaning] of explained) {
      const problem = problems[code as ProblemCode];
      const [advice] = (readPage('docs/errors.md').split(`### ${code}\n\n`)[1] ?? '').split(/\n\n/);
      expect([Number(status), meaning]).toEqual([
        problem.status,
        `**${problem.title}.** ${advice?.replaceAll('\n', ' ')}`,
      ]);
    }
  });
});

describe('the guides of the public API', () => {
  test('have the waits, the timeout and the limits of this service', () => {
    const retries = guides['Responses and retries'] ?? '';
    const waits = [...retries.matchAll(/^\| (\d) \| (.*) \|$/gm)].map(
      ([, attempt, wait]) => `${attempt}: ${wait}`,
    );
    expect(waits).toEqual(['2: 7 seconds', '3: 90 minutes', '4: 1 hour', '5: 2 days']);
    expect(retries).toContain('up to 5 attempts');
    expect(retries).toContain('waits up to 4 seconds for a response');
    expect(guides['Requests and responses']).toContain('1234 reads');
  });

  test('name every scope', () => {
    expect(namesBelow('docs/api.md', '## Authentication')).toEqual([...scopes]);
    for (const scope of scopes) expect(guides.Authentication).toContain(`| \`${scope}\` |`);
  });

  test('have the programs of the docs that verify signatures', () => {
    const page = 'docs/receive-webhooks.md';
    for (const [language, part] of [
      ['js', 'node:crypto'],
      ['python', 'def verify'],
      ['go', 'func verify'],
    ] as const)
      expect(guides['Verify signatures']).toContain(`\n${snippet(page, language, part).trim()}\n\`\`\``);
  });

  test('have no links to pages that the reference does not have', () => {
    const links = Object.values(guides).flatMap((text) => [...text.matchAll(/\]\(([^)]*)\)/g)]);
    expect(links.map(([, link]) => link).filter((link) => !/^https:/.test(link ?? ''))).toEqual([]);
    expect(JSON.stringify(guides)).not.toContain('<!--');
  });

  test('name every header that a delivery has', async () => {
    const tenant = await newTenant(service);
    const { receiver } = await tenant.connect(200);
    await tenant.record();
    const { headers } = await receiver.deliveries.nth(1);
    const rows = (guides['Receive webhooks'] ?? '').matchAll(/^\| `([\w-]+)`(?:, `([\w-]+)`)? \|/gm);
    const documented = [...rows].flatMap(([, ...names]) => names.map((name) => name?.toLowerCase()));
    const ofHttp = ['connection', 'content-length', 'host'];
    const sent = Object.keys(headers).filter((name) => !ofHttp.includes(name));
    expect(documented).toEqual(expect.arrayContaining(sent));
    const { components } = await readDocument(service.publicUrl);
    const described = components.pathItems!['invoice.paid']!.post!.parameters.map(
      ({ name }: { name: string }) => name,
    );
    expect(['Content-Type', ...described].sort()).toEqual(
      namesBelow('docs/receive-webhooks.md', '### Headers').sort(),
    );
  });
});
