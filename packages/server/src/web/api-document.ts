/** The parts of an OpenAPI 3.1 document that ours has. */
export interface ApiDocument {
  info: { title: string; version: string; description?: string };
  tags?: readonly Tag[];
  'x-tagGroups'?: readonly TagGroup[];
  security?: readonly SecurityRequirement[];
  paths?: Record<string, PathItem>;
  webhooks?: Record<string, PathItem>;
  components?: {
    schemas?: Record<string, Schema>;
    securitySchemes?: Record<string, SecurityScheme>;
  };
}

export interface Tag {
  name: string;
  description?: string;
  /** What can be done to the resource that the tag is about. */
  'x-moves'?: readonly MoveRow[];
}

export interface MoveRow {
  move: string;
  /** Where it leads from each status that allows it. */
  takes: Readonly<Record<string, string>>;
  event: string;
  operationId: string;
}

/** Tags that belong together, under one heading. */
export interface TagGroup {
  name: string;
  description?: string;
  tags: readonly string[];
}

interface SecurityScheme {
  description?: string;
  /** The variable that stands for the token in examples. */
  'x-variable'?: string;
}

/** Operations by their method in lower case. */
type PathItem = Record<string, Operation>;
type SecurityRequirement = Record<string, readonly string[]>;

export interface Operation {
  operationId?: string;
  tags?: readonly string[];
  summary?: string;
  description?: string;
  deprecated?: boolean;
  security?: readonly SecurityRequirement[];
  parameters?: readonly Parameter[];
  requestBody?: { description?: string; required?: boolean; content?: Content };
  responses?: Record<string, Response>;
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
  example?: unknown;
  examples?: NamedExamples;
}

export interface Response {
  description?: string;
  headers?: Record<string, { description?: string; schema?: Schema }>;
  content?: Content;
}

type Content = Record<string, MediaType>;

export interface MediaType {
  schema?: Schema;
  example?: unknown;
  examples?: NamedExamples;
}

type NamedExamples = Record<string, { value?: unknown }>;

export interface Schema {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | readonly string[];
  format?: string;
  const?: unknown;
  enum?: readonly unknown[];
  default?: unknown;
  example?: unknown;
  examples?: readonly unknown[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  properties?: Record<string, Schema>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minItems?: number;
  maxItems?: number;
}

/** The scopes an operation asks its token for. */
export function scopesOf(operation: Operation): readonly string[] {
  return (operation.security ?? []).flatMap((requirement) => Object.values(requirement).flat());
}

/** Whether an operation is for everyone; one that says nothing needs what the whole document needs. */
export function isOpen(operation: Operation): boolean {
  return operation.security?.length === 0;
}

/** How the examples call the token. */
export function tokenVariable({ components }: ApiDocument): string {
  const [scheme] = Object.values(components?.securitySchemes ?? {});
  return scheme?.['x-variable'] ?? 'POSTHORN_TOKEN';
}

/** The first way a body is described, which is the one to show. */
export function mainContent(content: Content | undefined): readonly [string, MediaType | undefined] {
  return Object.entries(content ?? {})[0] ?? ['', undefined];
}
