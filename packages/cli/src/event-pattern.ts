import type { Posthorn } from '@posthorn/client';
import { UsageError } from './command.js';
import { listOf } from './listing.js';

export const onlyEvents = 'Only these event types or domains (domain.*), separated by commas.';

/** Event types, or whole domains such as `invoice.*`. No patterns mean every event. */
export class EventPatterns {
  readonly patterns: readonly string[];

  constructor(text: string | undefined) {
    this.patterns = [...new Set(listOf(text ?? ''))].filter((part) => part !== '' && part !== '*').sort();
  }

  matches(type: string): boolean {
    return this.patterns.length === 0 || this.patterns.some((pattern) => fits(pattern, type));
  }

  /** The type that the service can filter by; undefined if the patterns are not one type. */
  get onlyType(): string | undefined {
    const [first, second] = this.patterns;
    return second === undefined && first !== undefined && !first.endsWith('*') ? first : undefined;
  }

  /** Fails if a pattern matches no event type, which is most likely a typo. */
  async check(posthorn: Posthorn): Promise<void> {
    if (this.patterns.length === 0) return;
    const types = await posthorn.eventTypes.list().all();
    const wrong = this.patterns.find((pattern) => !types.some(({ type }) => fits(pattern, type)));
    if (wrong !== undefined)
      throw new UsageError(`No event type matches '${wrong}'. Run posthorn types to list all types.`);
  }
}

function fits(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
