import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { costOf, fitCosts, plan, terms, worstError } from '../model.js';
import { readOptions } from '../options.js';

const unit = {
  costs: {
    serverUs: { event: 20, eventKb: 2, delivery: 80, deliveryKb: 5, request: 100 },
    databaseUs: { event: 30, eventKb: 8, delivery: 20, deliveryKb: 0, request: 10 },
    rows: { event: 1, eventKb: 0, delivery: 1, deliveryKb: 0, request: 0 },
    walBytes: { event: 1_000, eventKb: 1_100, delivery: 400, deliveryKb: 0, request: 50 },
    storedBytes: { event: 900, eventKb: 1_000, delivery: 300, deliveryKb: 0, request: 0 },
  },
  idle: { serverCores: 0.01, databaseCores: 0.02 },
};
const load = { eventsPerSecond: 1_000, fanOut: 3, payloadKb: 1, perRequest: 10, retentionDays: 90 };
const limits = {
  busy: 0.5,
  nodeCores: 4,
  nodesMin: 2,
  databaseCores: 16,
  walMbPerSecond: 100,
  diskGb: 8_000,
};

describe('the capacity model', () => {
  test('adds up the unit costs of an event, its deliveries, its bytes and its request', () => {
    expect(costOf(unit.costs.serverUs, load)).toBe(20 + 2 + 3 * 80 + 3 * 5 + 10);
  });

  test('converts units: microseconds to cores, bytes to GB per day and at retention', () => {
    const needs = plan(
      load,
      { ...limits, nodesMin: 1 },
      { ...unit, idle: { serverCores: 0, databaseCores: 0 } },
    );
    expect(needs.deliveriesPerSecond).toBe(3_000);
    expect(needs.serverCores).toBeCloseTo((1_000 * 287) / 1e6 / 0.5);
    expect(needs.databaseCores).toBeCloseTo((1_000 * 99) / 1e6 / 0.5);
    expect(needs.walMbPerSecond).toBeCloseTo((1_000 * 3_305) / 1e6);
    expect(needs.gbPerDay).toBeCloseTo((1_000 * 2_800 * 86_400) / 1e9);
    expect(needs.gbStored).toBeCloseTo(needs.gbPerDay * 90);
    expect(needs.rowsPerSecond).toBe(4_000);
  });

  test('needs a further cell when the CPU, the WAL or the disk of a database is full, and names which', () => {
    const at = (given) => plan({ ...load, ...given }, limits, unit);
    expect(at({ retentionDays: 1 })).toMatchObject({ cells: 1 });
    expect(at({}).limitedBy).toBe('disk');
    expect(at({}).cells).toBe(Math.ceil(at({}).gbStored / 8_000));
    expect(plan(load, { ...limits, diskGb: 1e9, walMbPerSecond: 1 }, unit)).toMatchObject({
      limitedBy: 'WAL',
      cells: 4,
    });
    const busy = plan(
      { ...load, eventsPerSecond: 1e5 },
      { ...limits, diskGb: 1e9, walMbPerSecond: 1e9 },
      unit,
    );
    expect(busy).toMatchObject({ limitedBy: 'database CPU', cells: 2 });
  });

  test('gives every cell its nodes, also if there is little to do', () => {
    const needs = plan({ ...load, eventsPerSecond: 1 }, limits, unit);
    expect(needs).toMatchObject({ cells: 1, nodes: 2 });
  });

  test('never needs less for more events, webhooks, bytes, days, or for fewer events per request', () => {
    const loads = fc.record({
      eventsPerSecond: fc.double({ min: 1, max: 1e6, noNaN: true }),
      fanOut: fc.double({ min: 0, max: 100, noNaN: true }),
      payloadKb: fc.double({ min: 0, max: 1_000, noNaN: true }),
      perRequest: fc.double({ min: 1, max: 1_000, noNaN: true }),
      retentionDays: fc.integer({ min: 1, max: 3_650 }),
    });
    const figures = [
      'serverCores',
      'databaseCores',
      'nodes',
      'cells',
      'rowsPerSecond',
      'walMbPerSecond',
      'gbPerDay',
      'gbStored',
    ];
    const grown = fc.double({ min: 1, max: 10, noNaN: true });
    fc.assert(
      fc.property(loads, fc.constantFrom(...Object.keys(load)), grown, (given, argument, factor) => {
        const more = {
          ...given,
          [argument]: argument === 'perRequest' ? given[argument] / factor : given[argument] * factor,
        };
        const [before, after] = [plan(given, limits, unit), plan(more, limits, unit)];
        for (const figure of figures)
          expect(after[figure]).toBeGreaterThanOrEqual(before[figure] * (1 - 1e-9));
      }),
    );
  });

  test('fits unit costs that explain the measurements', () => {
    const measurements = [0, 1, 4].flatMap((fanOut) =>
      [0.1, 4].flatMap((payloadKb) =>
        [1, 100].map((perRequest) => {
          const properties = { fanOut, payloadKb, perRequest };
          return { properties, cost: costOf(unit.costs.serverUs, properties) };
        }),
      ),
    );
    const costs = fitCosts(measurements, Object.keys(terms));
    for (const [term, cost] of Object.entries(unit.costs.serverUs)) expect(costs[term]).toBeCloseTo(cost, 6);
    expect(worstError(measurements, costs)).toBeLessThan(1e-9);
  });

  test('never fits a negative cost', () => {
    const measurements = [
      { properties: { fanOut: 0, payloadKb: 0, perRequest: 1 }, cost: 10 },
      { properties: { fanOut: 1, payloadKb: 0, perRequest: 1 }, cost: 9 },
    ];
    expect(fitCosts(measurements, ['event', 'delivery'])).toMatchObject({ delivery: 0 });
  });
});

describe('the options', () => {
  test('are read with their units', () => {
    expect(
      readOptions(['--events', '5000', '--fan-out', '3', '--payload', '512B', '--retention', '30d']),
    ).toMatchObject({
      eventsPerSecond: 5_000,
      fanOut: 3,
      payloadKb: 0.512,
      retentionDays: 30,
      perRequest: 10,
    });
  });

  test.each([
    ['--events', 'many'],
    ['--events', '0'],
    ['--events', ''],
    ['--fan-out', '-1'],
    ['--payload', '1KB'],
    ['--payload', '2MB'],
    ['--busy', '1.1'],
    ['--retention', '90'],
  ])('refuse %s %s and say what is accepted', (name, value) => {
    expect(readOptions([`${name}=${value}`]).problem).toMatch(
      new RegExp(`^${name} is '${value}'; it takes `),
    );
  });

  test('refuse what is unknown', () => {
    expect(readOptions(['--event', '5']).problem).toContain('--event');
  });
});
