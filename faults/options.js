import { parseArgs } from 'node:util';
import { scenarios } from './scenarios.js';

const usage = `npm run faults                                20 seeds, three scenarios each
npm run faults -- --seeds N                   the first N seeds
npm run faults -- --seed N                    the scenarios of one seed
npm run faults -- --seed N --scenario NAME    one trial again; NAME can be 'all'
npm run faults -- --scenario overload --for 3m   longer, for scenarios that take a time
npm run faults -- --soak 10m                   70 % of capacity, a fault every 20 s
npm run faults -- --list                      what each scenario does
`;

const units = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Reads the command line. Ends the process with a message if it is not understood. */
export function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: 'string' },
        seed: { type: 'string' },
        scenario: { type: 'string' },
        for: { type: 'string' },
        soak: { type: 'string' },
        result: { type: 'string' },
        list: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
    if (values.help) leave(usage, 0);
    return {
      list: values.list,
      result: values.result,
      seeds: values.seeds === undefined ? undefined : wholeNumber('--seeds', values.seeds),
      seed: values.seed === undefined ? undefined : wholeNumber('--seed', values.seed),
      scenarios: values.scenario === undefined ? undefined : scenariosNamed(values.scenario),
      forMs: values.for === undefined ? undefined : duration('--for', values.for),
      soakMs: values.soak === undefined ? undefined : duration('--soak', values.soak),
    };
  } catch (error) {
    return leave(`${error.message}\n\n${usage}`, 2);
  }
}

function leave(text, code) {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

function wholeNumber(option, text) {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${option} takes a whole number, not '${text}'.`);
  return Number(text);
}

function duration(option, text) {
  const [, count, unit] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  if (count === undefined) throw new Error(`${option} takes a duration such as 90s or 10m, not '${text}'.`);
  return Number(count) * units[unit];
}

function scenariosNamed(text) {
  if (text === 'all') return scenarios;
  return text.split(',').map((name) => {
    const found = scenarios.find((scenario) => scenario.name === name);
    if (found) return found;
    throw new Error(
      `There is no scenario '${name}'. Known scenarios: ${scenarios.map((one) => one.name).join(', ')}.`,
    );
  });
}
