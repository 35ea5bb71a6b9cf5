import { memberOf } from 'posthorn';
import type { Schema } from '../../src/reference/components.js';
import {
  creationSchema,
  type Lifecycle,
  lifecycles,
  moveSchema,
  resourceSchema,
} from '../../src/resources/resource-schema.js';

/** The types of `createResource`, `moveResource` and `readResource`, by the names of the resources in paths. */
export function resourceTypesSource(): string {
  return `// Generated from lifecycles.json and catalogue.json. To change it, change these files, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

interface Reference {
  type: string;
  id: string;
}

export interface Resources {
${Object.entries(lifecycles).map(resourceMember).join('\n')}
}
`;
}

function resourceMember([name, lifecycle]: [name: string, lifecycle: Lifecycle]): string {
  const { creation, moves } = lifecycle;
  return `  ${key(name)}: {
    resource: ${objectOf(resourceSchema(lifecycle), 4, 'readonly ')};
    creation: ${objectOf(creationSchema(lifecycle), 4)};
    created: ${creation.event ? `'${creation.event}'` : 'undefined'};
    moves: {
${Object.keys(moves)
  .map((move) => moveMember(lifecycle, move))
  .join('\n')}
    };
  };`;
}

function moveMember(lifecycle: Lifecycle, name: string): string {
  const move = lifecycle.moves[name]!;
  return `      ${key(name)}: {
        event: '${move.event}';
        request: ${objectOf(moveSchema(lifecycle, move), 8)};
      };`;
}

function objectOf(schema: Schema, indent: number, modifier = ''): string {
  const members = Object.keys(schema.properties ?? {}).map((name) =>
    name === 'actor' ? 'actor: Reference;' : modifier + memberOf(schema, name),
  );
  const margin = ' '.repeat(indent);
  return `{\n${members.map((member) => `${margin}  ${member}\n`).join('')}${margin}}`;
}

const key = (name: string) => (/^\w+$/.test(name) ? name : `'${name}'`);
