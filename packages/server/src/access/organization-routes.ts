import Type from 'typebox';
import { refuseElsewhere } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { identifierPattern, textPattern } from '../values/pattern.js';
import { Problem } from '../values/problem.js';
import { type Route, route } from '../web/route.js';
import { closed, namedData, orNull, text, textOrNull, time } from '../web/schemas.js';
import { nameMax, readOrganization, renameOrganization } from './organization-store.js';
import { originOf } from './token-routes.js';

const Organization = namedData('Organization', {
  id: text('Organization ID.', 'ORG-demo'),
  name: textOrNull('Display name. Null if there is none.', 'Rhein Logistics'),
  created_at: time('Time when the organization first got a name.', '2026-11-15T09:30:00.000Z'),
});

/** Returns the routes that give organizations a display name. */
export function organizationRoutes(database: Database): readonly Route[] {
  return [
    route('GET /platform/organizations/{id}', {
      operationId: 'getOrganization',
      summary: 'Get an organization',
      description: 'Returns the display name of an organization. An organization is known once it was named.',
      returns: { 200: Organization },
      handler: async ({ params: { id } }) => {
        await refuseElsewhere(database, id);
        const data = await readOrganization(database, id);
        if (!data) throw new Problem('not_found', 'The organization was never named. Name it with PATCH.');
        return { data };
      },
    }),
    route('PATCH /platform/organizations/{id}', {
      operationId: 'renameOrganization',
      summary: 'Name an organization',
      description:
        'Sets or removes the display name, which the console and the portal show. The organization need not be known. ' +
        'Writes the audit log entry `organization.renamed`.',
      body: closed({
        name: orNull(
          Type.String({
            minLength: 1,
            maxLength: nameMax,
            pattern: textPattern.plain,
            description: 'Display name. Null removes it.',
            examples: ['Rhein Logistics'],
          }),
        ),
      }),
      returns: { 200: Organization },
      handler: async (request) => {
        const { id } = request.params;
        if (!new RegExp(identifierPattern.organization).test(id))
          throw new Problem('not_found', 'This is not an organization ID. Expected ORG-….');
        return { data: await renameOrganization(database, id, request.body.name, originOf(request)) };
      },
    }),
  ];
}
