import { expect, test } from 'vitest';
import { headingOf } from '../src/views/overview/heading.js';

const [active, disabled] = (['active', 'disabled'] as const).map((status) => ({ status })) as [
  { status: 'active' },
  { status: 'disabled' },
];

test.each([
  [[], 0, undefined, 'Welcome'],
  [[], 0, 'WS-1', 'WS-1 has no webhooks of its own'],
  [[active], 0, undefined, 'The webhook is healthy'],
  [[active, active], 0, 'WS-1', 'All 2 webhooks of WS-1 are healthy'],
  [[active, active, disabled], 0, undefined, 'All 2 active webhooks are healthy'],
  [[disabled, disabled], 0, undefined, 'No webhook is active'],
  [[active, disabled], 1, undefined, '1 webhook needs attention'],
])(
  'the overview of %j, %i of which need attention, in workspace %s says: %s',
  (webhooks, attention, workspace, text) => {
    expect(headingOf(webhooks, attention, workspace)).toBe(text);
  },
);
