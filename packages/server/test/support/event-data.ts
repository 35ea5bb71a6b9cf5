import { eventMembers } from 'posthorn';
import type { EventType } from '../../src/catalogue/catalogue.js';

/**
 * The source file with the types of `data`. Printed, so that the receiver package needs neither the server nor the
 * schemas, and nobody writes a type down twice. The server takes its own types from there.
 */
export function eventDataSource(types: readonly EventType[]): string {
  return `// Generated from packages/server/catalogue.json. To change it, change that file, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

/** The type of \`data\` in the envelope of an event, by event type. */
export interface EventData {
${eventMembers(types)}
}
`;
}

/** The source file that has the sample of each type as JSON, for the requests that receivers make in their tests. */
export function eventSamplesSource(types: readonly EventType[]): string {
  const samples = types.map(({ type, sample }) => `"${type}": ${JSON.stringify(sample)}`).join(',\n');
  return `import type { EventData } from './event-data.js';

// Generated from packages/server/catalogue.json. To change it, change that file, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

/** A realistic example of \`data\` for each event type. */
export const eventSamples: EventData = JSON.parse(\`{
${samples.replaceAll(/[\\`$]/g, '\\$&')}
}\`);
`;
}

/** The rows that a migration adds to the catalogue in the database. */
export function eventTypesSql(types: readonly EventType[]): string {
  const lines = types.map(({ type, description, schema, sample }) =>
    JSON.stringify({ type, description, schema, sample }),
  );
  return `-- Generated from catalogue.json. To change it, change that file, then run
-- UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

-- Brings the built-in types up to date, except those that the platform has redefined. If the platform does not use the
-- built-in types, only webhook.* are in the catalogue.
insert into posthorn.event_types as e (type, version, in_use, own, position, description, schema, sample)
select t ->> 'type', 1, true, false, ordinality, t ->> 'description', t -> 'schema', t -> 'sample'
  from json_array_elements($types$[
${lines.join(',\n')}
]$types$) with ordinality as w (t, ordinality)
 where t ->> 'type' like 'webhook.%' or (select builtin from posthorn.catalogue)
on conflict (type) do update
   set version = e.version + (not e.in_use or e.schema::jsonb <> excluded.schema::jsonb)::int, in_use = true,
       own = false, position = excluded.position, description = excluded.description, schema = excluded.schema,
       sample = excluded.sample
 where not (e.own and e.in_use);
update posthorn.catalogue set revision = revision + 1;
`;
}
