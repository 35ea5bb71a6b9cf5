import { expect, test } from 'vitest';
import { headingOf } from '../src/overview/heading.js';

const active = { status: 'active' } as const;
const disabled = { status: 'disabled' } as const;
const waiting = { ...active, waitsUntil: '2026-11-18T21:54:00.000Z' };

test.each([
  [[], 0, undefined, 'Welcome'],
  [[], 0, 'WS-1', 'WS-1 has no webhooks of its own'],
  [[active], 0, undefined, 'The webhook is healthy'],
  [[active, active], 0, 'WS-1', 'All 2 webhooks are healthy'],
  [[active, active, disabled], 0, undefined, 'All 2 active webhooks are healthy'],
  [[disabled, disabled], 0, undefined, 'No webhook is active'],
  [[active, waiting], 0, undefined, 'No webhook needs attention'],
  [[waiting], 0, 'WS-1', 'No webhook needs attention'],
  [[active, disabled], 1, undefined, '1 webhook needs attention'],
])(
  'the overview of %j, %i of which need attention, in workspace %s says: %s',
  (webhooks, attention, workspace, text) => {
    expect(headingOf(webhooks, attention, workspace)).toBe(text);
  },
);
