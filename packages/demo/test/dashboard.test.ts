import { styleText } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { subjectTypeOf } from '../../server/src/catalogue/catalogue.js';
import { catalogue } from '../../server/test/support/catalogue.js';
import { dashboard, type Paint, type Situation } from '../src/dashboard.js';
import { Figures } from '../src/figures.js';
import { behaviors } from '../src/receivers.js';

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
  return figures;
}

const frame = (columns: number, rows: number, figures = busy(), paint = plain) =>
  dashboard(figures, situation, { columns, rows }, paint);

const tailStart = (lines: readonly string[]) =>
  lines.findIndex((line) => line.startsWith('GET /v1/events/tail')) + 1;

describe('the link to the console', () => {
  test('is shown with its token, or not at all', () => {
    const { url, link, tokenFile } = situation.console;
    for (let columns = 72; columns <= 140; columns += 1) {
      const line = frame(columns, 30)[2]!;
      const fits = 'Console: '.length + link.length <= columns;
      if (fits) expect(line).toBe(`Console: ${link}`);
      else expect(line).toBe(`Console: ${url}  (token: ${tokenFile})`);
    }
  });
});

describe('the dashboard', () => {
  test('fits 80 by 24 and shows everything it promises', () => {
    const lines = frame(80, 24);
    expect(lines).toHaveLength(24);
    expect(lines[0]).toMatch(
      /^Posthorn demo {2}1:23 {2}396 events, [\d.]+\/s \(target 20\/s\) {2}q: stop, \+\/-: rate$/,
    );
    expect(lines[1]).toBe('ORG-demo  http://127.0.0.1:7400');
    expect(lines[2]).toBe('Console: http://127.0.0.1:7400/console  (token: .posthorn/demo-token)');
    const text = lines.join('\n');
    expect(text).toMatch(/^receiver +delivered +pending +failed +p50 +p99 +behavior *$/m);
    expect(text).toMatch(/^healthy +12,345 +0 +0 +5\d ms +\d+ ms +responds at once *$/m);
    expect(text).toMatch(/^dead +0 +57 +102 +- +- +closes every connection *$/m);
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

  test('uses the available width: full type names, subjects and actors', () => {
    const text = frame(160, 40).join('\n');
    expect(text).toMatch(/^service_line\.activated +12 +\S+ +12 +\S+ +12/m);
    expect(text).toMatch(/ LIN-01M7EXEZQARZ6K2CTZHK0BS50K {2}by AGT-01M7EXEZ9SY3P9497FHPC8RTEA$/m);
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
