import { styleText } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { subjectTypeOf } from '../../server/src/catalogue/catalogue.js';
import { catalogue } from '../../server/test/support/catalogue.js';
import { dashboard, type Situation } from '../src/dashboard.js';
import { Figures } from '../src/figures.js';
import { behaviors } from '../src/receivers.js';
import type { Paint } from '../src/text.js';

const plain: Paint = (_style, text) => text;
const colored: Paint = (style, text) => styleText(style, text, { validateStream: false });
const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

const situation: Situation = {
  nowMs: 84_000,
  phase: 'running',
  wantedPerSecond: 20,
  publicUrl: 'http://127.0.0.1:7400',
  console: {
    url: 'http://127.0.0.1:7400/console',
    link: `http://127.0.0.1:7400/console#token=pht_${'x'.repeat(43)}`,
    tokenFile: '.posthorn/demo-token',
  },
  organizationId: 'ORG-demo',
  retryScheduleMs: [2_000, 5_000, 10_000, 20_000],
};

/** A demo that has run for a minute and a half. */
function busy(times = 12): Figures {
  const figures = new Figures(behaviors);
  figures.startedMs = 1_000;
  const types = catalogue.list();
  for (let n = 0; n < types.length * times; n++) {
    const { type } = types[n % types.length]!;
    figures.eventRecorded(`EVT-${n}`, 1_000 + ((n * 50) % 83_000));
    figures.eventShown({
      ...{ id: `EVT-01M7EXF0268S43TJ0KADST${1_000 + (n % 1_000)}`, type, workspace_id: 'WS-berlin' },
      created_at: '2026-11-15T04:17:25.363Z',
      actor: { type: 'agent', id: 'AGT-01M7EXEZ9SY3P9497FHPC8RTEA' },
      subject: { type: subjectTypeOf(type), id: 'LIN-01M7EXEZQARZ6K2CTZHK0BS50K' },
    });
  }
  Object.assign(figures.receiver('healthy'), { delivered: 12_345, pending: 0, failed: 0 });
  Object.assign(figures.receiver('flaky'), { delivered: 411, pending: 23, failed: 4 });
  Object.assign(figures.receiver('dead'), { delivered: 0, pending: 57, failed: 102 });
  for (let ms = 1; ms <= 100; ms++) figures.deliveryArrived('healthy', 1, ms);
  for (let n = 0; n < 12; n++) figures.signatureChecked('verifying', n !== 7);
  return figures;
}

const frame = (columns: number, rows: number, figures = busy(), paint = plain) =>
  dashboard(figures, situation, { columns, rows }, paint);

/** The columns that a title ends at, in every row below it. */
function expectBelow(heading: string, rows: readonly string[], titles: readonly string[]): void {
  for (const title of titles) {
    const end = heading.indexOf(title) + title.length;
    for (const row of rows) expect(row.slice(end - 2, end + 1)).toMatch(/\S( |$)/);
  }
}

const tailStart = (lines: readonly string[]) =>
  lines.findIndex((line) => line.startsWith('GET /v1/events/tail')) + 1;

describe('the link to the console', () => {
  test('is shown with its token, or not at all', () => {
    const { url, link, tokenFile } = situation.console;
    for (let columns = 40; columns <= 140; columns += 1) {
      const line = frame(columns, 30)[2]!;
      const fits = 'Console: '.length + link.length <= columns;
      if (fits) expect(line).toBe(`Console: ${link}`);
      else expect(line.trimEnd()).toMatch(new RegExp(`^Console: ${url}(  \\(token: ${tokenFile}\\))?$`));
    }
  });
});

describe('the dashboard', () => {
  test('fits 80 by 24 and shows everything it promises', () => {
    const lines = frame(80, 24);
    expect(lines).toHaveLength(24);
    expect(lines[0]).toMatch(/^Posthorn demo {2}1:23 {2}396 events, [\d.]+\/s \(target 20\/s\) +q: stop$/);
    expect(lines[1]).toMatch(
      /^ORG-demo {2}http:\/\/127\.0\.0\.1:7400 {2}retries after 2s, 5s, 10s, 20s +\+\/-: rate$/,
    );
    expect(lines[2]).toBe('Console: http://127.0.0.1:7400/console  (token: .posthorn/demo-token)');
    expect(lines[3]).toMatch(/^ +time to arrival$/);
    const text = lines.join('\n');
    expect(text).toMatch(/^receiver +behavior +delivered +pending +failed +p50 +p99$/m);
    expect(text).toMatch(/^healthy +responds at once +12,345 +0 +0 +5\d ms +\d+ ms$/m);
    expect(text).toMatch(/^dead +closes every connection +0 +57 +102 +- +-$/m);
    expect(text).toMatch(/^verifying +11 signed, 1 forged /m);
    expect(text).toMatch(/^all +12,756 +80 +106 /m);
    expect(text).toMatch(/^events by type *$/m);
    expect(text).toMatch(/^service_line\.activated +12 +\S+ +12 *$/m);
    expect(lines.slice(-6).every((line) => /^04:17:25\.363 {2}\w+\.\w+/.test(line))).toBe(true);
  });

  test('shows the pending deliveries once, in the table', () => {
    const figures = busy();
    Object.assign(figures.receiver('dead'), { delivered: 0, pending: 777, failed: 0 });
    Object.assign(figures.receiver('flaky'), { delivered: 0, pending: 0, failed: 0 });
    const lines = frame(120, 40, figures).filter((line) => /\b777\b/.test(line));
    expect(lines.map((line) => line.split(' ', 1)[0])).toEqual(['dead', 'all']);
  });

  test.each([60, 80, 120, 160])('aligns its figures in %i columns', (columns) => {
    const lines = frame(columns, 40);
    const [above = '', heading = '', ...rows] = lines.slice(3, 11);
    expect(rows).toHaveLength(6);
    expectBelow(heading, rows, ['delivered', 'pending', 'failed', 'p50', 'p99']);
    expect(above.length).toBe(heading.trimEnd().length);
    const grid = lines.slice(12, tailStart(lines) - 1);
    const [first = '', ...others] = grid;
    for (const { index } of first.matchAll(/[a-z]\S+/g))
      for (const line of others)
        expect(line.slice(Math.max(0, index - 1), index + 1)).toMatch(/^ ?[a-z]$|^ *$/);
  });

  test.each([60, 80, 100, 120, 140, 160])('shows whole ids or none in %i columns', (columns) => {
    const lines = frame(columns, 40);
    const tail = lines.slice(tailStart(lines));
    expect(tail.length).toBeGreaterThan(0);
    for (const line of tail) {
      for (const [id] of line.matchAll(/\b[A-Z]+-\w*/g)) expect(id).toMatch(/^(WS-berlin|[A-Z]{3}-\w{26})$/);
      expect(line).not.toContain('…');
    }
  });

  test('describes a receiver completely or not at all', () => {
    for (let columns = 20; columns < 130; columns++) {
      const text = frame(columns, 40).join('\n');
      const described = behaviors
        .filter(({ checksSignatures }) => !checksSignatures)
        .map(({ description }) => description);
      const shown = described.filter((description) => text.includes(description));
      expect([0, described.length]).toContain(shown.length);
      if (shown.length === 0) expect(text).not.toMatch(/\b(responds|fails|closes)\b/);
    }
  });

  test('shows failures in red', () => {
    const red = (text: string) => styleText('red', text, { validateStream: false });
    const text = frame(120, 40, busy(), colored).join('\n');
    expect(text).toContain(red('102'.padStart(8)));
    expect(text).toContain(red('webhook.delivery_failed'.padEnd(28)));
  });

  test('never exceeds the terminal, whatever its size and the figures', () => {
    const troubled = busy(400);
    troubled.troubled('POST /platform/tasks returned 503: the database is unreachable');
    const size = { columns: fc.integer({ min: 1, max: 300 }), rows: fc.integer({ min: 1, max: 100 }) };
    fc.assert(
      fc.property(
        fc.record(size),
        fc.constantFrom(busy(0), busy(), troubled),
        ({ columns, rows }, figures) => {
          const lines = frame(columns, rows, figures);
          expect(lines.length).toBeLessThanOrEqual(rows);
          expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });

  test('has the same layout with and without colors', () => {
    const painted = frame(100, 30, busy(), colored);
    expect(painted.join('')).toMatch(escapes);
    expect(painted.map((line) => line.replaceAll(escapes, ''))).toEqual(frame(100, 30));
  });

  test('uses the available width: full type names, actors and event ids', () => {
    const text = frame(160, 40).join('\n');
    expect(text).toMatch(/^service_line\.activated +12 +\S+ +12 +\S+ +12/m);
    expect(text).toMatch(/ by AGT-01M7EXEZ9SY3P9497FHPC8RTEA {2}in WS-berlin {2}EVT-/);
    for (const { type } of catalogue.list()) expect(text).toContain(type);
  });

  test('uses the available height for the most frequent types and the latest events', () => {
    const figures = busy();
    for (let n = 0; n < 5; n++) figures.eventShown({ ...figures.latest[0]!, type: 'task.created' });
    const grid = (rows: number) => {
      const lines = frame(80, rows, figures);
      const start = lines.findIndex((line) => line.startsWith('events by type')) + 1;
      return lines.slice(start, tailStart(lines) - 1);
    };
    expect(grid(24)[0]).toMatch(/^task\.created +17 /);
    expect(grid(40).length).toBeGreaterThan(grid(24).length);
    for (const { type } of catalogue.list()) expect(grid(50).join('\n')).toContain(type);
  });

  test('shows failed requests in its last line, and that it is stopping in its first', () => {
    const figures = busy();
    figures.troubled('first');
    figures.troubled('POST /platform/tasks returned 503');
    const lines = dashboard(figures, { ...situation, phase: 'stopping' }, { columns: 80, rows: 24 }, plain);
    expect(lines).toHaveLength(24);
    expect(lines[0]).toMatch(/ stopping …$/);
    expect(lines.at(-1)).toBe('2 failed requests, the latest: POST /platform/tasks returned 503');
  });
});
