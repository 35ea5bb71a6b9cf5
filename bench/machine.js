import { cpus, platform, release, totalmem } from 'node:os';

/** What figures were measured on. */
export async function describeMachine(database) {
  const { rows } = await database.query('show server_version');
  return { ...hostMachine(), postgresql: `PostgreSQL ${rows[0].server_version}` };
}

/** The same without the database. */
export function hostMachine() {
  return {
    cpu: cpus()[0].model.trim(),
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    node: process.versions.node,
  };
}
