import { readFileSync } from 'node:fs';
import type { RateLimits } from '../access/rate-limits.js';
import { durationText } from '../values/duration.js';
import { type ProblemCode, problems } from '../values/problem.js';
import { type Tag, table } from '../web/route.js';

/** How this service is configured to deliver. */
export interface DeliveryRules {
  retryScheduleMs: readonly number[];
  timeoutMs: number;
}

/** Returns the guides of the public API, for people who have only its reference. */
export function publicGuides(limits: RateLimits, rules: DeliveryRules): readonly Tag[] {
  return [
    guide('Authentication'),
    guide('Requests and responses', { 'rate limits': rateLimitText(limits) }),
    guide('Receive webhooks'),
    guide('Verify signatures'),
    guide('Responses and retries', { schedule: scheduleText(rules) }),
  ];
}

/** Returns the guides of the platform listener. */
export function platformGuides(hasLifecycles: boolean): readonly Tag[] {
  return [guide('Record events'), ...(hasLifecycles ? [guide('Change resources')] : [])];
}

/** Returns the guide to a listener's errors: their format, and the codes it can return. */
export function errorsGuide(codes: ReadonlySet<ProblemCode>): Tag {
  const sections = guide('What to do')
    .description.split(/^### /m)
    .map((text) => text.trim().split('\n\n'));
  const advice = new Map(sections.map(([code, text]) => [code, text]));
  const rows = Object.entries(problems)
    .filter(([code]) => codes.has(code as ProblemCode))
    .map(([code, { status, title }]) => [`\`${code}\``, String(status), `**${title}.** ${advice.get(code)}`]);
  const { name, description } = guide('Errors');
  return { name, description: `${description}\n\n${table(['Code', 'Status', 'Meaning'], rows)}` };
}

/** Returns a guide that the build has cut out of docs, with the values of this service. */
export function guide(name: string, values: Readonly<Record<string, string>> = {}): Tag {
  const guides = JSON.parse(readFileSync(new URL('../../assets/guides.json', import.meta.url), 'utf8'));
  return {
    name,
    description: guides[name].replaceAll(/\{\{(.+)\}\}/g, (_: string, key: string) => values[key]),
  };
}

function rateLimitText({ reads, writes }: RateLimits): string {
  const limits = [
    ...(reads > 0 ? [`${reads} reads (\`GET\` and \`HEAD\`)`] : []),
    ...(writes > 0 ? [`${writes} writes`] : []),
  ];
  return limits.length === 0
    ? 'This service does not limit how many requests a token can make. A service with limits behaves like this:'
    : `A token can make ${limits.join(' and ')} per minute.`;
}

function scheduleText({ retryScheduleMs, timeoutMs }: DeliveryRules): string {
  const waits = retryScheduleMs.map((waitMs, index) => [String(index + 2), durationText(waitMs)]);
  return (
    `Posthorn waits up to ${durationText(timeoutMs)} for a response and makes up to ${waits.length + 1} attempts:\n\n` +
    table(['Attempt', 'Wait after the previous attempt'], waits)
  );
}
