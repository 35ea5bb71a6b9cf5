import { sendRequest } from './client.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has every shape
type Schema = any;

interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

interface MediaType {
  schema?: Schema;
  example?: unknown;
}

/** One endpoint as the OpenAPI document of its listener describes it. */
export interface Operation {
  /** `GET /v1/events/{event_id}` */
  name: string;
  method: string;
  path: string;
  summary: string | undefined;
  parameters: Parameter[];
  body: Record<string, MediaType> | undefined;
  bodyIsRequired: boolean;
  /** The names of the body's fields. */
  bodyFields: string[];
  responses: Record<
    string,
    { description: string; headers?: Record<string, unknown>; content?: Record<string, MediaType> }
  >;
  isOpen: boolean;
  scopes: string[];
}

export interface ApiDocument {
  openapi: string;
  tags: { name: string; description: string }[];
  'x-tagGroups': { name: string; tags: string[] }[];
  paths: Record<string, Record<string, Schema>>;
  webhooks?: Record<string, { $ref: string }>;
  servers: { url: string }[];
  components: {
    schemas: Record<string, Schema>;
    headers: Record<string, Schema>;
    securitySchemes: Record<string, Schema>;
    pathItems?: Record<string, Record<string, Schema>>;
  };
}

/** The schema itself where a reference stands for it. */
export function resolved(document: ApiDocument, schema: Schema): Schema {
  const name = schema?.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : resolved(document, document.components.schemas[name]);
}

export async function readDocument(baseUrl: string): Promise<ApiDocument> {
  const { status, body } = await sendRequest(`${baseUrl}/openapi.json`);
  if (status !== 200) throw new Error(`no document at ${baseUrl}`);
  return body;
}

function fieldsOf(document: ApiDocument, schema: Schema): string[] {
  const body = resolved(document, schema);
  return Object.keys(resolved(document, body?.anyOf?.[0] ?? body)?.properties ?? {});
}

/** Every endpoint there is: what is added later is tested without being listed anywhere. */
export async function readOperations(baseUrl: string): Promise<Operation[]> {
  const document = await readDocument(baseUrl);
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      summary: operation.summary,
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content,
      bodyFields: fieldsOf(document, operation.requestBody?.content['application/json']?.schema),
      bodyIsRequired: operation.requestBody?.required ?? false,
      responses: operation.responses,
      isOpen: operation.security?.length === 0,
      scopes: (operation.security ?? []).flatMap((one: Record<string, string[]>) =>
        Object.values(one).flat(),
      ),
    })),
  );
}

/** Rows for `describe.each('%s')`: `$name` would cut long names short. */
export function named(operations: readonly Operation[]): [name: string, operation: Operation][] {
  return operations.map((operation) => [operation.name, operation]);
}

export interface Example {
  path: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
}

/** A request that the document itself gives as an example: path, required parameters, body. */
export function exampleOf(operation: Operation): Example {
  const valuesIn = (place: string, parameters = operation.parameters) =>
    Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === place)
        .map(({ name, example, schema }) => [name, String(example ?? schema.examples?.[0] ?? 'none')]),
    );
  return {
    path: valuesIn('path'),
    query: valuesIn(
      'query',
      operation.parameters.filter(({ required }) => required),
    ),
    body: operation.body?.['application/json']?.example,
  };
}

export function urlOf(baseUrl: string, operation: Operation, example: Example): string {
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(example.path[name] ?? 'none'),
  );
  const query = new URLSearchParams(example.query).toString();
  return `${baseUrl}${path}${query && `?${query}`}`;
}
