import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import type { ApiResponse } from './client.js';
import { type ApiDocument, type Operation, readDocument } from './operations.js';

/** Headers that no response may have without its document saying so. */
const documentedHeaders = [
  ...['location', 'etag', 'retry-after', 'www-authenticate', 'x-request-id'],
  ...['ratelimit', 'ratelimit-policy', 'idempotency-replayed'],
];

/** Holds responses to what the OpenAPI document of their listener promises. */
export class Conformance {
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #document: unknown;

  private constructor(document: ApiDocument) {
    // Each schema is used once or twice, so optimizing its code would take longer than it saves.
    const code = { optimize: false };
    this.#ajv = new Ajv2020({
      strict: false,
      allErrors: true,
      validateSchema: false,
      inlineRefs: false,
      code,
    });
    addFormats.default(this.#ajv);
    // Components are schemas of their own, so that Ajv compiles each once and not again for every reference to it.
    const { components, ...rest } = JSON.parse(
      JSON.stringify(document).replaceAll('"$ref":"#/components/schemas/', '"$ref":"component:'),
    );
    for (const [name, schema] of Object.entries(components.schemas))
      this.#ajv.addSchema(schema as object, `component:${name}`);
    this.#ajv.addSchema(rest, 'document');
    this.#document = rest;
  }

  static async of(baseUrl: string): Promise<Conformance> {
    return new Conformance(await readDocument(baseUrl));
  }

  /** The status is documented, the media type is one it may have there, and the body has its schema. */
  check(operation: Operation, response: ApiResponse): void {
    const place = `${operation.name} → ${response.status}`;
    const documented = operation.responses[response.status];
    expect(documented, `${place} is not documented: ${response.text}`).toBeDefined();
    const headers = Object.keys(documented?.headers ?? {}).map((name) => name.toLowerCase());
    for (const name of documentedHeaders)
      if (response.headers.has(name)) expect(headers, `${place}: ${name} is not documented`).toContain(name);
    const types = Object.keys(documented?.content ?? {});
    if (types.length === 0) {
      expect(response.text, place).toBe('');
      return;
    }
    const type = response.headers.get('content-type')?.split(';')[0] ?? '';
    expect(types, place).toContain(type);
    if (operation.method === 'HEAD' || !/json/.test(type)) return;
    const steps = ['paths', operation.path, operation.method.toLowerCase(), 'responses', response.status];
    const faults = this.#faults([...steps, 'content', type, 'schema'], response.body);
    expect(faults, `${place}: ${response.text.slice(0, 1_000)}`).toEqual([]);
  }

  /** What is wrong with a value by the schema at that place of the document. */
  #faults(steps: (string | number)[], value: unknown): unknown[] {
    const schema = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], this.#document);
    const pointer = steps.map((step) =>
      encodeURIComponent(String(step).replaceAll('~', '~0').replaceAll('/', '~1')),
    );
    // Most places only refer to a component. These share its compiled schema.
    const $ref = (schema as { $ref?: string }).$ref ?? `document#/${pointer.join('/')}`;
    const validate = this.#compiled.get($ref) ?? this.#ajv.compile({ $ref });
    this.#compiled.set($ref, validate);
    return validate(value) ? [] : (validate.errors ?? []);
  }

  exampleFaults(operation: Operation, steps: (string | number)[], value: unknown): unknown[] {
    return this.#faults(['paths', operation.path, operation.method.toLowerCase(), ...steps], value);
  }
}
