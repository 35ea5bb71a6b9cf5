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
