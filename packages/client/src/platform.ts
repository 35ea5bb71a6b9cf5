import type { Event } from './api.js';
import type { CallOptions } from './client.js';
import { listAt } from './list.js';
import type * as api from './platform-api.js';
import { at, Transport, type TransportOptions } from './transport.js';

/** A service line, an invoice or another thing with a lifecycle. Its other fields depend on its type. */
export interface Resource {
  id: string;
  /** Type, as in the subject of events. */
  type: string;
  organization_id: string;
  workspace_id: string | null;
  /** Only moves change it. */
  status: string;
  created_at: string;
  updated_at: string;
  [attribute: string]: unknown;
}

/**
 * The body of a creation request: the organization, the actor, and the attributes of the type of resource.
 */
export interface NewResource {
  organization_id: string;
  workspace_id?: string | null;
  actor: api.ReferenceInput;
  [attribute: string]: unknown;
}

/** The body of a move request: the actor, and the fields of this move. */
export interface Move {
  actor: api.ReferenceInput;
  [detail: string]: unknown;
}

/** A resource after it was created or moved. */
export interface ChangedResource {
  resource: Resource;
  /** The recorded event. Undefined if creating this type of resource records no event. */
  event: Event | undefined;
}

/**
 * The platform listener, for your own backend: `new Platform({ url, token })`. It creates tokens and portal sessions,
 * names organizations, and moves resources. To record events, use a `Producer`.
 */
export class Platform {
  readonly #transport: Transport;

  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
  }

  readonly tokens = {
    /** Creates an access token for the public API. Only this result contains the token, in `token`. */
    create: (token: api.CreateTokenRequest, options?: CallOptions) =>
      this.#send<api.IssuedToken>('POST', '/platform/tokens', token, options),
    /** Lists the tokens of an organization. */
    list: (query: api.ListTokensQuery, options?: CallOptions) =>
      listAt<api.ListedToken>(this.#transport, '/platform/tokens', query, options?.signal),
    /** Revokes a token. Fails with `not_found` if it is already revoked. */
    revoke: (tokenId: string, options?: CallOptions): Promise<void> =>
      this.#transport.delete(at`/platform/tokens/${tokenId}`, options?.signal),
  };

  readonly portalSessions = {
    /** Creates a session for one visit to the portal. Open its `url` in a frame, and do not store it. */
    create: (session: api.CreatePortalSessionRequest, options?: CallOptions) =>
      this.#send<api.PortalSession>('POST', '/platform/portal-sessions', session, options),
  };

  readonly organizations = {
    /** Gets an organization that was named. Fails with `not_found` for any other one. */
    get: (organizationId: string, options?: CallOptions): Promise<api.Organization> =>
      this.#send('GET', at`/platform/organizations/${organizationId}`, undefined, options),
    /** Sets the display name that the console and the portal show. Null removes it. */
    rename: (organizationId: string, name: string | null, options?: CallOptions): Promise<api.Organization> =>
      this.#send('PATCH', at`/platform/organizations/${organizationId}`, { name }, options),
  };

  /** Resources by the names in their paths: `resources.move('invoices', 'INV-1', 'pay', { actor })`. */
  readonly resources = {
    create: (resources: string, resource: NewResource, options?: CallOptions) =>
      this.#change(at`/platform/${resources}`, resource, options),
    get: (resources: string, id: string, options?: CallOptions): Promise<Resource> =>
      this.#send('GET', at`/platform/${resources}/${id}`, undefined, options),
    /** Moves a resource to another status. Fails with `move_not_allowed` if its status does not allow it. */
    move: (resources: string, id: string, move: string, body: Move, options?: CallOptions) =>
      this.#change(at`/platform/${resources}/${id}/${move}`, body, options),
  };

  /** Returns the metrics of the node, in the Prometheus text format. */
  metrics(options?: CallOptions): Promise<string> {
    return this.#transport.text('/metrics', options?.signal);
  }

  #send<T>(method: string, path: string, body: unknown, options?: CallOptions): Promise<T> {
    return this.#transport.send(method, path, body, options?.signal);
  }

  async #change(path: string, body: unknown, options?: CallOptions): Promise<ChangedResource> {
    const request = { body, signal: options?.signal };
    const { data, event } = await this.#transport.json<{ data: Resource; event?: Event }>(
      'POST',
      path,
      request,
    );
    return { resource: data, event };
  }
}
