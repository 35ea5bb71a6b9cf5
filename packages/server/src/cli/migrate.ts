import { resolve } from 'node:path';
import { json } from 'posthorn';
import { type BlockingSession, migrate } from '../postgres/migrate.js';
import type { OperatorCommand } from './operator.js';
import { openTarget } from './with-database.js';

export const migrateCommand: OperatorCommand = {
  name: 'migrate',
  summary: 'Apply migrations and exit.',
  options: { json },
  run: async ({ options, config, terminal }) => {
    terminal.finishesWithoutReader = true;
    const { database, embedded, close } = await openTarget(config);
    // These settings suggest production, so DATABASE_URL may be missing by mistake.
    if (embedded && (config.secretKeys ?? config.platformToken) !== undefined && !options.json)
      terminal.line(`DATABASE_URL is not set: using the embedded database in ${resolve(config.dataDir)}.`);
    try {
      const applied = await migrate(database, (session) => {
        if (!options.json) terminal.line(waitingFor(session));
      });
      if (options.json) {
        terminal.line(JSON.stringify({ applied }));
        return;
      }
      for (const name of applied) terminal.line(`applied ${name}`);
      if (applied.length === 0) terminal.line('Nothing to apply: the database is up to date.');
    } finally {
      await close();
    }
  },
};

function waitingFor({ pid, user, application, since }: BlockingSession): string {
  const names = [application, user && `user ${user}`].filter(Boolean).join(', ');
  const session = names === '' ? `PID ${pid}` : `PID ${pid} (${names})`;
  return `waiting for the session with ${session} to end its transaction${since ? `, which began at ${since.toISOString()}` : ''}`;
}
