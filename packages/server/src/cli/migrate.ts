import { resolve } from 'node:path';
import { json } from 'posthorn';
import { blocked, migrate } from '../postgres/migrate.js';
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
      const applied = await migrate(database, () => {
        if (!options.json) terminal.line(blocked);
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
