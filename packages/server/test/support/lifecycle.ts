import type { TObject, TSchema } from 'typebox';
import type { ResourceName } from '../../src/index.js';
import { shortestPathTo } from '../../src/resources/resource-operations.js';
import {
  creationSchema,
  type Lifecycle,
  lifecycles,
  moveSchema,
  statusesOf,
  transitionsOf,
} from '../../src/resources/resource-schema.js';
import { type ApiResponse, sendRequest } from './client.js';
import { deliveriesOf } from './deliveries.js';
import { platformToken, type TestService } from './service.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
type Body = any;

export const actor = { type: 'user', id: 'USR-ada' };

/** Every resource of the table, under its name in paths. */
export const resources = Object.entries(lifecycles) as [name: ResourceName, lifecycle: Lifecycle][];

/** The table of moves line by line, to be tested one by one. */
export const transitions = resources.flatMap(([resource, lifecycle]) =>
  transitionsOf(lifecycle).map((transition) => ({ resource, lifecycle, ...transition })),
);

/** Every status of every resource, and the moves that the table does not have for it. */
export const forbidden = resources.flatMap(([resource, lifecycle]) =>
  statusesOf(lifecycle).map((status) => ({
    ...{ resource, lifecycle, status },
    moves: Object.keys(lifecycle.moves).filter((move) => !(status in lifecycle.moves[move]!.transitions)),
  })),
);

/** The smallest body that a schema accepts, or one with all it knows, of the examples in it. */
function bodyOf(schema: TObject, fields: 'required' | 'all'): Record<string, unknown> {
  const { required = [], properties } = schema as { required?: string[] } & TObject;
  const names = fields === 'all' ? Object.keys(properties) : required;
  const exampleOf = (name: string) => (properties[name] as TSchema & { examples?: unknown[] }).examples?.[0];
  return Object.fromEntries(names.map((name) => [name, exampleOf(name)]));
}

export function creationBody(lifecycle: Lifecycle, fields: 'required' | 'all' = 'required') {
  return { ...bodyOf(creationSchema(lifecycle), fields), actor };
}

export function moveBody(lifecycle: Lifecycle, move: string, fields: 'required' | 'all' = 'required') {
  return { ...bodyOf(moveSchema(lifecycle, lifecycle.moves[move]!), fields), actor };
}

/** The lifecycles on the platform listener of a service, for one organization. */
export class Platform {
  readonly service: TestService;
  readonly organization: string;

  constructor(service: TestService, organization: string) {
    this.service = service;
    this.organization = organization;
  }

  get(path: string): Promise<ApiResponse> {
    return sendRequest(`${this.service.platformUrl}/platform/${path}`, { token: platformToken });
  }

  post(path: string, body: unknown): Promise<ApiResponse> {
    const options = { method: 'POST', token: platformToken, body };
    return sendRequest(`${this.service.platformUrl}/platform/${path}`, options);
  }

  create(resource: string, fields: Record<string, unknown> = {}): Promise<ApiResponse> {
    return this.post(resource, { organization_id: this.organization, actor, ...fields });
  }

  /** A resource that went all the way to this status. */
  async bring(resource: ResourceName, status?: string): Promise<Body> {
    const lifecycle: Lifecycle = lifecycles[resource];
    const created = await this.create(resource, {
      ...creationBody(lifecycle),
      organization_id: this.organization,
    });
    if (created.status !== 201) throw new Error(created.text);
    let { data } = created.body;
    for (const move of shortestPathTo(lifecycle, status ?? lifecycle.creation.to)) {
      const moved = await this.post(`${resource}/${data.id}/${move}`, moveBody(lifecycle, move));
      if (moved.status !== 200) throw new Error(moved.text);
      data = moved.body.data;
    }
    return data;
  }

  /** What the audit log has about a resource, oldest first. */
  async audit(id: string): Promise<Body[]> {
    const { rows } = await this.service.database.query<{ changes: string }>({
      text: `
  select action, organization_id, workspace_id, actor_type, actor_id, target_type, request_id, source_address,
         changes
    from posthorn.audit_log
   where target_id = $1
   order by created_at, id`,
      values: [id],
    });
    return rows.map((row) => ({ ...row, changes: JSON.parse(row.changes) }));
  }

  /** How much there is of everything that a move writes. */
  async traces(): Promise<unknown> {
    const { rows } = await this.service.database.query({
      text: `
  select (select count(*) from posthorn.events where organization_id = $1) as events,
         (select count(*) from posthorn.audit_log where organization_id = $1) as entries,
         (select json_agg(r order by id) from posthorn.resources r where organization_id = $1) as resources`,
      values: [this.organization],
    });
    return { ...rows[0], deliveries: await deliveriesOf(this.service.database, this.organization) };
  }
}
