import { json } from 'posthorn';
import { Database } from '../storage/database.js';
import { openEmbedded } from '../storage/embedded/embedded.js';
import { migrate } from '../storage/migrate.js';
import type { OperatorCommand } from './operator.js';

export const migrateCommand: OperatorCommand = {
  name: 'migrate',
  summary: 'Apply migrations and exit.',
  options: { json },
  run: async ({ options, config, terminal }) => {
    const embedded =
      config.databaseUrl === undefined ? await openEmbedded(config.dataDir, 'command') : undefined;
    const target = embedded?.connection ?? { connectionString: config.databaseUrl ?? '' };
    const database = new Database(target, 1);
    try {
      const applied = await migrate(database);
      if (options.json) {
        terminal.line(JSON.stringify({ applied }));
        return;
      }
      for (const name of applied) terminal.line(`applied ${name}`);
      if (applied.length === 0) terminal.line('Nothing to apply: the database is up to date.');
    } finally {
      await database.close();
      await embedded?.close();
    }
  },
};
