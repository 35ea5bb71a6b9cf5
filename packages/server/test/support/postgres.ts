import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { Database } from '../../src/storage/database.js';
import { openEmbedded } from '../../src/storage/embedded/embedded.js';
import { migrate } from '../../src/storage/migrate.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL on which tests make databases of their own. */
    adminUrl: string;
    /** A migrated database that fresh ones are copied from. */
    templateName: string;
  }
}

/** One PostgreSQL for the whole run: the embedded one, or the one DATABASE_URL names. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.DATABASE_URL;
  const dataDir = given ? undefined : await mkdtemp(join(tmpdir(), 'posthorn-test-'));
  // Without this the database of a run as root would be placed elsewhere, and stay there.
  if (dataDir) await chmod(dataDir, 0o711);
  const embedded = dataDir ? await openEmbedded(dataDir, 'command') : undefined;
  const adminUrl =
    given ?? `postgres://posthorn@/postgres?host=${encodeURIComponent(embedded?.connection.host ?? '')}`;
  delete process.env.DATABASE_URL;

  const templateName = `posthorn_template_${process.pid}`;
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  // This cluster lives as long as the run. Tests of crashes have clusters of their own.
  if (embedded) {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      await admin.query(`alter system set ${setting} = off`);
    }
    await admin.query('select pg_reload_conf()');
  }
  await admin.query(`drop database if exists ${templateName}`);
  await admin.query(`create database ${templateName}`);
  const template = new Database({ connectionString: urlOf(adminUrl, templateName) }, 1);
  await migrate(template);
  await template.close();

  project.provide('adminUrl', adminUrl);
  project.provide('templateName', templateName);
  return async () => {
    await admin.query(`drop database if exists ${templateName} with (force)`);
    await admin.end();
    await embedded?.close();
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  };
}

export function urlOf(adminUrl: string, database: string): string {
  return adminUrl.replace(/^(postgres(?:ql)?:\/\/[^/]*)\/[^?]*/, `$1/${database}`);
}
