import { cpus, platform, release, totalmem } from 'node:os';

/** Returns a description of the machine and the PostgreSQL that figures were measured on. */
export async function describeMachine(database) {
  const { rows } = await database.query('show server_version');
  return { ...hostMachine(), postgresql: `PostgreSQL ${rows[0].server_version}` };
}

/** Returns a description of the machine. */
export function hostMachine() {
  return {
    cpu: cpus()[0].model.trim(),
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    node: process.versions.node,
  };
}
