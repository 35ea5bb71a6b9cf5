import { styleText } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dashboard, type Paint, type Situation } from '../../src/demo/dashboard.js';
import { Figures } from '../../src/demo/figures.js';
import { manners } from '../../src/demo/receivers.js';
import { createCatalogue } from '../../src/domain/catalogue.js';

const plain: Paint = (_style, text) => text;
const coloured: Paint = (style, text) => styleText(style, text, { validateStream: false });
const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

const situation: Situation = {
  nowMs: 84_000,
  phase: 'running',
  wantedPerSecond: 20,
  publicUrl: 'http://127.0.0.1:7400',
  organizationId: 'ORG-demo',
  retryScheduleMs: [2_000, 5_000, 10_000, 20_000],
};

/** A demo that has run for a minute and a half. */
function busy(times = 12): Figures {
  const figures = new Figures(manners);
  figures.begin(1_000);
  const types = createCatalogue().list();
  for (let n = 0; n < types.length * times; n++) {
    const { type, subject } = types[n % types.length]!;
    figures.eventRecorded(`EVT-${n}`, 1_000 + ((n * 50) % 83_000));
    figures.eventShown({
      ...{ id: `EVT-01M7EXF0268S43TJ0KADST${n % 1000}`, type, workspace_id: 'WS-berlin' },
      created_at: '2026-11-15T04:17:25.363Z',
      actor: { type: 'agent', id: 'AGT-01M7EXEZ9SY3P9497FHPC8RTEA' },
      subject: { type: subject, id: 'LIN-01M7EXEZQARZ6K2CTZHK0BS50K' },
    });
  }
  figures.deliveriesCounted('healthy', { delivered: 12_345, retrying: 0, failed: 0 });
  figures.deliveriesCounted('flaky', { delivered: 411, retrying: 23, failed: 4 });
  figures.deliveriesCounted('dead', { delivered: 0, retrying: 57, failed: 102 });
  for (let ms = 1; ms <= 100; ms++) figures.deliveryArrived('healthy', 1, ms);
  for (let n = 0; n < 12; n++) figures.signatureChecked('verifying', n !== 7);
  figures.retriesWaiting = 80;
  return figures;
}

const frame = (columns: number, rows: number, figures = busy(), paint = plain) =>
  dashboard(figures, situation, { columns, rows }, paint);

describe('the dashboard', () => {
  test('fits 80 by 24, with everything that is promised', () => {
    const lines = frame(80, 24);
    expect(lines).toHaveLength(24);
    expect(lines[0]).toMatch(
      /^Posthorn demo {2}1:23 {2}372 events, [\d.]+ a second of 20 wanted +q ends it$/,
    );
    expect(lines[1]).toMatch(/^80 retries wait \(after 2s, 5s, 10s, 20s\) +http:\/\/127\.0\.0\.1:7400$/);
    const text = lines.join('\n');
    expect(text).toMatch(/^receiver +delivered +retrying +failed +p50 +p99$/m);
    expect(text).toMatch(/^healthy +answers at once +12,345 +0 +0 +5\d ms +\d+ ms$/m);
    expect(text).toMatch(/^dead +hangs up every time +0 +57 +102 +- +-$/m);
    expect(text).toMatch(/^verifying +11 ok, 1 refused /m);
    expect(text).toMatch(/^all +12,756 +80 +106 /m);
    expect(text).toMatch(/^agent +started 12 +completed 12 +failed 12 +policy_violated 12 *$/m);
    expect(lines.slice(-3).every((line) => /^04:17:25\.363 {2}webhook\./.test(line))).toBe(true);
  });

  test('has its columns of figures one below the other', () => {
    const [heading = '', ...rows] = frame(80, 24).slice(2, 9);
    for (const row of rows) expect(row).toHaveLength(heading.length);
    for (const title of ['delivered', 'retrying', 'failed', 'p50', 'p99']) {
      const end = heading.indexOf(title) + title.length;
      for (const row of rows) expect(row.slice(end - 2, end + 1)).toMatch(/\S( |$)/);
    }
  });

  test('never exceeds the terminal, whatever its size and however much there is to count', () => {
    const troubled = busy(400);
    troubled.troubled('POST /platform/tasks answered 503: the database is out of reach');
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

  test('colours change nothing about where things are', () => {
    const painted = frame(100, 30, busy(), coloured);
    expect(painted.join('')).toMatch(escapes);
    expect(painted.map((line) => line.replaceAll(escapes, ''))).toEqual(frame(100, 30));
  });

  test('uses the width it has: whole names of types, actors and event ids', () => {
    const text = frame(160, 40).join('\n');
    expect(text).toMatch(/^service_line\.activated +12 +\S+ +12 +\S+ +12/m);
    expect(text).toMatch(/ by AGT-01M7EXEZ9SY3P9497FHPC8RTEA in WS-berlin {2}EVT-/);
    for (const { type } of createCatalogue().list()) expect(text).toContain(type);
  });

  test('uses the height it has for the tail', () => {
    const tail = (rows: number) => frame(80, rows).filter((line) => line.startsWith('04:17:25'));
    expect(tail(24)).toHaveLength(3);
    expect(tail(50)).toHaveLength(29);
  });

  test('tells of trouble in its last line, and that it is ending in its first', () => {
    const figures = busy();
    figures.troubled('first');
    figures.troubled('POST /platform/tasks answered 503');
    const lines = dashboard(figures, { ...situation, phase: 'stopping' }, { columns: 80, rows: 24 }, plain);
    expect(lines).toHaveLength(24);
    expect(lines[0]).toMatch(/ ending …$/);
    expect(lines.at(-1)).toBe('2 went wrong, the latest: POST /platform/tasks answered 503');
  });
});
