/** The parts of an OpenAPI 3.1 document that Posthorn uses. */
export interface ApiDocument {
  info: { title: string; version: string; description: string };
  tags: Tag[];
  'x-tagGroups': { name: string; tags: string[] }[];
  paths?: Record<string, PathItem>;
  webhooks?: Record<string, unknown>;
  components: { schemas: Record<string, Schema>; headers?: Record<string, unknown> };
}

export interface Tag {
  name: string;
  description: string;
}

/** Tags under one heading. */
export interface TagGroup {
  name: string;
  tags: readonly Tag[];
}

/** Operations by their method in lower case. */
type PathItem = Record<string, Operation>;

export interface Operation {
  operationId?: string;
  tags?: readonly string[];
  security?: readonly Record<string, readonly string[]>[];
  parameters?: { name: string; in: string; schema?: Schema }[];
  requestBody?: { content?: Content; required?: boolean };
  responses?: Record<string, ApiResponse>;
}

export interface ApiResponse {
  description?: string;
  headers?: Record<string, { $ref: string }>;
  content?: Content;
}

export type Content = Record<string, { schema?: Schema; example?: unknown }>;

/** The parts of JSON Schema that our schemas use. */
export interface Schema {
  $ref?: string;
  /** The name of the schema among the components of the document. */
  title?: string;
  description?: string;
  type?: string | readonly string[];
  format?: string;
  pattern?: string;
  const?: unknown;
  enum?: readonly unknown[];
  default?: unknown;
  examples?: readonly unknown[];
  anyOf?: readonly Schema[];
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  minimum?: number;
  /** Constraints that only the document contains: the service checks them in code, with its own messages. */
  'x-documented'?: Schema & Record<string, unknown>;
}

/** Returns the scopes that an operation requires. */
export function scopesOf(operation: Operation): readonly string[] {
  return (operation.security ?? []).flatMap((requirement) => Object.values(requirement).flat());
}

/** Returns whether an operation needs no token. If it has no `security`, the document's `security` applies. */
export function isOpen(operation: Operation): boolean {
  return operation.security?.length === 0;
}

/**
 * Returns whether the rate limit of a token applies to an operation: whether its `security` names a token. Operations
 * of the platform listener name none, and the platform token has no limit.
 */
export function isCounted(operation: Operation): boolean {
  return (operation.security ?? []).length > 0;
}
