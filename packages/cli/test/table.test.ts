import { describe, expect, test } from 'vitest';
import { type Column, layOutTable } from '../src/table.js';

interface Entry {
  id: string;
  place: string;
  time: string;
}

const columns: readonly Column<Entry>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'place', of: ({ place }) => place, spare: 2 },
  { title: 'time', of: ({ time }) => time, short: ({ time }) => time.slice(0, 10), spare: 1 },
];
const rows = [
  { id: 'TOK-1', place: 'WS-berlin', time: '2026-11-15T06:22:44.130Z' },
  { id: 'TOK-22', place: '-', time: '2026-11-16T06:22:44.130Z' },
];

describe('a table', () => {
  test('is aligned and complete if there is room', () => {
    expect(layOutTable(columns, rows, 29)).toEqual({
      heading: 'id      place      time',
      lines: ['TOK-1   WS-berlin  2026-11-15', 'TOK-22  -          2026-11-16'],
      leftOut: [],
    });
  });

  test('hides the least important columns if there is not, and names them', () => {
    expect(layOutTable(columns, rows, 28)).toMatchObject({ heading: 'id      time', leftOut: ['place'] });
    expect(layOutTable(columns, rows, 17)).toMatchObject({ heading: 'id      place', leftOut: ['time'] });
    expect(layOutTable(columns, rows, 16)).toMatchObject({ heading: 'id', leftOut: ['place', 'time'] });
  });

  test('keeps ids complete, however narrow it is', () => {
    expect(layOutTable(columns, rows, 1).lines).toEqual(['TOK-1', 'TOK-22']);
  });

  test('hides an empty column first, without naming it', () => {
    const nowhere = rows.map((row) => ({ ...row, time: '-' }));
    expect(layOutTable(columns, nowhere, 20)).toMatchObject({ heading: 'id      place', leftOut: [] });
  });

  test('cuts the longest column first, so that shorter ones stay complete', () => {
    const [id, place] = columns;
    const cutting = [
      { ...id!, cuts: true },
      { ...place!, spare: 0, cuts: true },
    ];
    const row = { id: 'a'.repeat(30), place: 'b'.repeat(90), time: '-' };
    expect(layOutTable(cutting, [row], 80).lines).toEqual([`${'a'.repeat(30)}  ${'b'.repeat(47)}…`]);
    // If the width is unknown, one long cell does not widen all rows.
    expect(layOutTable(cutting, [row], Number.POSITIVE_INFINITY).lines).toEqual([
      `${'a'.repeat(30)}  ${'b'.repeat(59)}…`,
    ]);
    expect(layOutTable(cutting, [row], 1).lines).toEqual([`${'a'.repeat(23)}…  ${'b'.repeat(23)}…`]);
  });

  test('can have more rows than a function can have arguments', () => {
    const many = new Array<Entry>(200_000).fill(rows[0]!);
    expect(layOutTable(columns, many, 80).lines).toHaveLength(200_000);
  });

  test('without rows has its titles', () => {
    expect(layOutTable(columns, [], 80)).toEqual({ heading: 'id  place  time', lines: [], leftOut: [] });
  });
});
