import { readdir, readFile } from 'node:fs/promises';

/** The length of a clock tick in /proc, in milliseconds. */
const tickMs = 10;

/** Returns how many milliseconds of CPU time the processes have used so far, in total. */
export async function cpuMsOf(...pids) {
  let ms = 0;
  for (const pid of pids) ms += await cpuMsOfProcess(pid);
  return ms;
}

export async function cpuMsOfProcess(pid) {
  return (await usageOf(pid)).ms;
}

/** Returns the CPU time of a process and its children, including those that have ended. */
export async function cpuMsOfFamily(parent) {
  let ms = 0;
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const usage = await usageOf(Number(name)).catch(() => undefined);
    if (usage && (usage.pid === parent || usage.parent === parent)) ms += usage.ms;
  }
  return ms;
}

export async function parentOf(pid) {
  return (await usageOf(pid)).parent;
}

async function usageOf(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]);
  return { pid, parent: Number(fields[1]), ms: ticks * tickMs };
}
