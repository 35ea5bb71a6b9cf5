import { fork } from 'node:child_process';

/** Starts a receiver in a process of its own. */
export async function startReceiver() {
  const child = fork(new URL('./receiver.js', import.meta.url));
  const message = (key) =>
    new Promise((found) => {
      const look = (given) => {
        if (!(key in given)) return;
        child.off('message', look);
        found(given);
      };
      child.on('message', look);
    });
  const { port } = await message('port');
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    /** Starts counting again. `arrived` resolves when `count` requests have arrived. */
    async expect(count) {
      const ready = message('ready');
      child.send({ expect: count });
      await ready;
      return { arrived: count === 0 ? undefined : message('done') };
    },
    async report() {
      const report = message('received');
      child.send({ report: true });
      return report;
    },
    /** Returns the IDs of the events that arrived on `/kept`, each once. */
    async kept() {
      const kept = message('kept');
      child.send({ keep: true });
      return (await kept).kept;
    },
    /** Makes `/fickle` hang from now on. */
    hang: () => child.send({ hang: true }),
    stop: () => child.kill(),
  };
}
