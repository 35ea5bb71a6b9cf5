import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Cluster } from './cluster.js';
import { entry } from './node.js';
import { makePlace } from './place.js';

/** The files of a migrated PostgreSQL that is stopped. `npm test` has one, which saves creating it. */
const prepared = process.env.FAULTS_PGDATA;
const usualWalMb = 16;
const made = new Map();

/** Returns a migrated database that is not running. A copy of it starts immediately. */
export function template(walMb = usualWalMb) {
  if (!made.has(walMb)) made.set(walMb, make(walMb));
  return made.get(walMb);
}

async function make(walMb) {
  const cluster = await Cluster.at(join(makePlace().path, 'template'));
  if (prepared !== undefined && walMb === usualWalMb) {
    cluster.adopt(prepared);
    return cluster;
  }
  cluster.create(walMb);
  await cluster.start();
  const admin = await cluster.connect('postgres');
  await admin.query('create database posthorn');
  await admin.end();
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, 'migrate'], {
    env: { ...process.env, DATABASE_URL: cluster.url },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`posthorn migrate failed: ${stdout}${stderr}`);
  await cluster.stop();
  return cluster;
}
