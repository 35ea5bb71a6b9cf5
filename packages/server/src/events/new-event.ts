import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import Type from 'typebox';
import { type Catalogue, unknownType } from '../catalogue/catalogue.js';
import { createPayloadValidator, isObject } from '../catalogue/payload.js';
import { type Fault, faultsFromAjv, knownFirst, under } from '../values/fault.js';
import { identifierPattern, textPattern } from '../values/pattern.js';
import { unstorableFaults } from '../values/storable.js';
import { ReferenceInput } from '../web/schemas.js';

/** The event as a producer sends it. */
export const NewEventSchema = Type.Object(
  {
    type: Type.String({
      description: 'Event type. `webhook.*` is not allowed.',
      'x-documented': { pattern: '^(?!webhook\\.)[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*){1,2}$', maxLength: 194 },
      examples: ['invoice.finalized'],
    }),
    organization_id: Type.String({
      pattern: identifierPattern.organization,
      description: 'Organization ID.',
      examples: ['ORG-demo'],
    }),
    workspace_id: Type.Optional(
      Type.Union([Type.String({ pattern: identifierPattern.workspace }), Type.Null()], {
        description: 'Workspace ID. Omit it or use null if the event concerns the whole organization.',
        examples: ['WS-berlin'],
      }),
    ),
    actor: ReferenceInput('Who caused the event.', { type: 'user', id: 'USR-ada' }),
    subject: ReferenceInput('What the event is about.', { type: 'invoice', id: 'INV-2041' }),
    payload: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Must match the schema of the event type. Additional fields are allowed.',
        examples: [{ id: 'INV-2041', number: '2026-000418', amount_minor: 1249900, currency: 'EUR' }],
      },
    ),
    idempotency_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: textPattern.plain,
        description:
          'Makes it safe to repeat the request. For 24 hours, the same key in the same organization returns the first event and records nothing.',
      }),
    ),
  },
  { title: 'NewEvent', additionalProperties: false },
);

/** After this many faults in a batch, a response lists only the first fault of each further event. */
const faultsMax = 100;
const ajv = new Ajv2020({ allErrors: true, strict: false, verbose: true, validateSchema: false });

export type EventChecker = (events: readonly unknown[]) => readonly Fault[];

/**
 * Returns a checker for a whole batch. The pointer of each fault starts with the index of the event. The checker
 * compiles the event schema when the first event arrives.
 */
export function createEventChecker(catalogue: Catalogue): EventChecker {
  const validatePayload = createPayloadValidator(catalogue);
  let hasShape: ValidateFunction | undefined;

  function checkOne(event: unknown): readonly Fault[] {
    hasShape ??= ajv.compile(NewEventSchema);
    const faults = hasShape(event) ? [] : faultsFromAjv(hasShape.errors ?? [], event);
    if (typeof event !== 'object' || event === null) return faults;
    const { type, payload } = event as { type?: unknown; payload?: unknown };
    const unstorable = unstorableFaults(event);
    const isTooDeep = unstorable.some(({ code }) => code === 'too_deep');
    if (typeof type === 'string') {
      const typeFault = faultOfType(type, catalogue);
      if (typeFault) faults.push(typeFault);
      // Validation against a recursive schema could exhaust the stack, so a payload that is nested too deeply is not
      // validated.
      else if (isObject(payload) && !isTooDeep)
        faults.push(...under('/payload', validatePayload(type, payload)));
    }
    return knownFirst([...faults, ...unstorable]);
  }

  return (events) => {
    const faults: Fault[] = [];
    for (const [index, event] of events.entries()) {
      const room = Math.max(faultsMax - faults.length, 1);
      faults.push(...under(`/${index}`, checkOne(event).slice(0, room)));
    }
    return faults;
  };
}

function faultOfType(type: string, catalogue: Catalogue): Fault | undefined {
  if (type.startsWith('webhook.')) {
    return {
      pointer: '/type',
      code: 'reserved_type',
      detail: 'webhook.* events can only be recorded by the service itself',
    };
  }
  if (catalogue.get(type)) return undefined;
  return { pointer: '/type', code: 'unknown_event_type', detail: unknownType(type, catalogue) };
}
