import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest. Vitest knows how long a file took only after a first run; before that it starts with the
 * largest files, and one of these, started last, keeps a single core busy while the others are idle.
 */
const longest = [
  'console/test/console.test.ts',
  'server/test/reference.test.ts',
  'server/test/moving/organization-move.test.ts',
  'server/test/embedded/embedded.test.ts',
  'demo/test/demo.test.ts',
  'console/test/hands.test.ts',
  'server/test/engine/nodes.test.ts',
  'server/test/operations/upgrade.test.ts',
  'console/test/views.test.ts',
  'console/test/forms.test.ts',
  'server/test/cli.test.ts',
  'server/test/postgres/database-outage.test.ts',
  'server/test/engine/overload.test.ts',
  'server/test/events/plans.test.ts',
  'server/test/faults.test.ts',
  'server/test/engine/lost-responses.test.ts',
  'cli/test/listen.test.ts',
  'server/test/reference/openapi.test.ts',
  'server/test/operations/monitoring-files.test.ts',
  'server/test/engine/engine.test.ts',
  'server/test/reference/openapi-components.test.ts',
];

/** Starts the files that take longest first, then the others in the usual order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((file) => moduleId.endsWith(`/packages/${file}`));
      return place === -1 ? longest.length : place;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
