import { organization } from './load.js';
import { progress } from './progress.js';
import { hasColumn } from './store.js';

const weekMs = 7 * 86_400_000;
/** A Monday, on which weeks begin. */
const mondayMs = 4 * 86_400_000;

/** How many different values each filter has. Each value fills more than a page, even among 200,000 events. */
const kinds = { workspaces: 50, types: 23, subjectTypes: 8, subjects: 2_000, actors: 97 };

/**
 * Writes `count` events of the past `weeks` straight into the partitions, four fifths of them for one organization.
 * Creates the indexes of a week's partition after filling it, which takes a fraction of the time.
 */
export async function loadHistory(database, count, weeks) {
  const perWeek = Math.ceil(count / weeks);
  const toMs = mondayMs + Math.floor((Date.now() - mondayMs) / weekMs) * weekMs;
  for (let week = weeks; week >= 1; week -= 1) {
    const before = (weeks - week) * perWeek;
    progress(`loading: ${before.toLocaleString('en')} of ${count.toLocaleString('en')} events`);
    const [from, to] = [toMs - week * weekMs, toMs - (week - 1) * weekMs].map((ms) => new Date(ms));
    const partition = `posthorn.events_${from.toISOString().slice(0, 10).replaceAll('-', '')}`;
    await database.query('begin');
    await database.query(`create table ${partition} (like posthorn.events including all excluding indexes)`);
    await fill(database, partition, from.getTime(), perWeek, before);
    await database.query(
      `alter table posthorn.events attach partition ${partition}
         for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
    );
    await database.query('commit');
  }
  progress('vacuum and analyze');
  await database.query('vacuum (analyze) posthorn.events');
  return { fromMs: toMs - weeks * weekMs, toMs };
}

async function fill(database, table, fromMs, count, before) {
  const hasBytes = await hasColumn(database, 'events', 'bytes');
  await database.query(
    `insert into ${table}
            (organization_id, created_at, id, type, workspace_id, actor_type, actor_id, subject_type, subject_id,
             payload${hasBytes ? ', bytes' : ''})
     select case when n % 5 > 0 then $4 else 'ORG-other-' || n % 7 end,
            to_timestamp(($1::float8 + (n - $3::bigint) * ${weekMs}.0 / $2::float8) / 1000)::timestamptz(3),
            'EVT-' || lpad(upper(to_hex(n)), 26, '0'),
            'kind.' || n * 7919 % ${kinds.types}, 'WS-' || n * 31 % ${kinds.workspaces},
            'agent', 'AGT-' || n * 104729 % ${kinds.actors},
            'kind_' || n * 17 % ${kinds.subjectTypes}, 'RUN-' || n * 7907 % ${kinds.subjects},
            payload${hasBytes ? ', octet_length(payload::text)' : ''}
       from generate_series($3::bigint, $3::bigint + $2::bigint - 1) n,
            lateral (select format('{"service_line_id":"LIN-1","duration_ms":%s,"tokens_used":15377,"outcome":"success"}',
                                   n % 100000)::json as payload) p`,
    [fromMs, count, before, organization],
  );
}
