import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { Figures } from '../src/figures.js';
import { behaviors } from '../src/receivers.js';
import { showDashboard } from '../src/view.js';

/** Opens a dashboard on a terminal, presses a key and closes the dashboard. Returns what the key did. */
async function press(key: string) {
  const did = { onQuit: vi.fn(), onInterrupt: vi.fn(), changePace: vi.fn() };
  const running = {
    figures: new Figures(behaviors),
    situation: () => ({
      ...{
        nowMs: 0,
        phase: 'running' as const,
        wantedPerSecond: 20,
        publicUrl: '',
        organizationId: 'ORG-demo',
      },
      ...{ console: { url: '', link: '', tokenFile: '' } },
    }),
    changePace: did.changePace,
  };
  const setRawMode = vi.fn();
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const stdout = new PassThrough();
  const close = showDashboard(running, (_style, text) => text, did, { stdin, stdout } as never);
  stdin.write(key);
  await vi.waitFor(() => expect(Object.values(did).flatMap(({ mock }) => mock.calls)).toHaveLength(1));
  close();
  return { ...did, rawModes: setRawMode.mock.calls.flat(), printed: String(stdout.read()) };
}

test.each([
  ['q', 'q', 'onQuit'],
  ['Ctrl-C', '\u0003', 'onInterrupt'],
] as const)('%s stops the demo, and the terminal is restored', async (_name, key, called) => {
  const did = await press(key);
  expect(did[called]).toHaveBeenCalledOnce();
  expect(did.rawModes).toEqual([true, false]);
  expect(did.printed.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

test.each([
  ['+', 2],
  ['-', 0.5],
])('%s multiplies the events per second by %d', async (key, factor) => {
  expect((await press(key)).changePace).toHaveBeenCalledWith(factor);
});
