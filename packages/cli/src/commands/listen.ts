import type { Event } from '@posthorn/client';
import { signingKey } from '@posthorn/receiver';
import { invalid, sets, shellWord } from '../command.js';
import { type ApiContext, apiCommand } from '../connection.js';
import { EventPatterns, onlyEvents } from '../event-pattern.js';
import { type ForwardResult, forward, forwardedJson, isAccepted, targetUrl } from '../forward.js';
import { type Listener, ListenPosition, signingSecret } from '../listen-state.js';
import { jsonLines } from '../listing.js';
import { responseText } from '../response-text.js';
import { requestText, saveRequest } from '../saved-request.js';
import { untilStopped } from '../stopping.js';
import { formatOf, formatOption, webhookRequest } from '../webhook-request.js';
import { tailLine } from './events.js';

export const listen = apiCommand({
  name: 'listen',
  summary:
    'Follow new events and forward them to your machine, signed as the service signs them. Press Ctrl-C to stop. The next run continues after the last event.',
  options: {
    'forward-to': {
      value: 'URL',
      description: 'Send every event to this URL, such as http://localhost:3000/hooks.',
      read: targetUrl,
    },
    events: { value: 'a,b', description: onlyEvents },
    workspace: sets('workspace_id', 'WS-x', 'Only events from this workspace.'),
    secret: {
      value: 'secret',
      description:
        'Sign with this secret. Environment: POSTHORN_WEBHOOK_SECRET. Without either, a secret is generated, printed and ' +
        'kept for the next run.',
    },
    from: {
      value: 'now|id',
      choices: ['now'],
      description: 'Start now, or after this event, instead of where the last run ended.',
    },
    format: formatOption,
    print: { description: 'Print every request with its headers and body.' },
    save: {
      value: 'dir',
      description: 'Save every request in this directory, for posthorn verify --request.',
    },
    json: jsonLines,
  },
  run: async (context) => {
    const { options, env, terminal, posthorn, fields } = context;
    const { 'forward-to': to } = options;
    const target = to === undefined ? to : targetUrl(to, 'forward-to');
    const events = new EventPatterns(options.events);
    await events.check(posthorn);
    const { organization_id, workspace_id } = await posthorn.token();
    const follows = {
      url: context.url,
      organization: organization_id,
      workspace: options.workspace ?? workspace_id,
      events: events.patterns,
      target: target?.href ?? null,
    };
    const position = new ListenPosition(env, follows);
    const start = startOf(options.from, position);
    const secret = await signingSecret(options, env);
    const sender = new Sender(context, target, secret);
    if (!options.json) {
      if (start !== undefined)
        terminal.line(`Continuing after ${start}. Use --from now to skip the events that were missed.`);
      terminal.line(`Signing secret: ${secret}`);
    }
    await untilStopped(context, async (signal) => {
      const query = { ...fields, organization_id, type: events.onlyType };
      const tail = posthorn.events.tail(query, {
        signal,
        lastEventId: start,
        onConnect: () => {
          // Store the start as well: after a run that stops before its first event, the next run continues from here.
          if (tail.lastEventId !== undefined) position.write(tail.lastEventId);
          if (!options.json) terminal.hint(listeningLine(follows));
        },
        onDisconnect: (_error, waitMs) => {
          const seconds = Math.ceil(waitMs / 1000);
          if (!options.json) terminal.hint(`Connection lost. Reconnecting in ${seconds} s.`);
        },
      });
      for await (const event of tail) {
        if (events.matches(event.type)) await sender.handle(event);
        // If the reader has gone away, the next run prints the event again.
        if (!(await terminal.written())) break;
        position.write(event.id);
        // Leave events that have already arrived to the next run.
        if (signal.aborted) break;
      }
    });
  },
});

function listeningLine({ url, organization, events, target }: Listener): string {
  const what = events.length === 0 ? 'all events' : events.join(', ');
  return `Listening for ${what} in ${organization} at ${url}${target === null ? '' : `, forwarding to ${target}`}.`;
}

/** Returns the event after which to start; undefined to start now. */
function startOf(from: string | undefined, position: ListenPosition): string | undefined {
  if (from === undefined) return position.read();
  if (from === 'now') return undefined;
  if (/^EVT-[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(from)) return from;
  throw invalid('from', from, 'now or an event ID such as EVT-01JAB3C4D5E6F7G8H9J0K1M2N3');
}

/** As wide as the time at the start of a line. */
const indent = ' '.repeat(11);

/** Forwards events, and prints the result of each. */
class Sender {
  readonly #context: ApiContext;
  readonly #target: URL | undefined;
  readonly #key: ReturnType<typeof signingKey>;

  constructor(context: ApiContext, target: URL | undefined, secret: string) {
    this.#context = context;
    this.#target = target;
    this.#key = signingKey(secret);
  }

  async handle(event: Event): Promise<void> {
    const { options, terminal, texts } = this.#context;
    const how = { format: formatOf(options), key: this.#key, now: new Date() };
    const request = webhookRequest(event, texts.payloadOf(event), how);
    const text = requestText(this.#target, request);
    const file = options.save === undefined ? undefined : await saveRequest(options.save, event.id, text);
    const result = this.#target && (await forward(this.#target, request));
    if (options.json) terminal.line(JSON.stringify(jsonOf(event, this.#target, result, file)));
    else this.#print(event, result);
    if (options.print && !options.json) terminal.line(`${text.replaceAll('\r\n', '\n')}\n`);
  }

  /** Returns the command that sends an event again, with the options that this command was given. */
  #commandFor({ id }: Event): string {
    const { options } = this.#context;
    const given = ['secret', 'format', 'profile', 'url'].flatMap((name) => {
      const value = options[name];
      return value === undefined ? [] : [`--${name}`, value];
    });
    return ['posthorn', 'trigger', id, '--to', String(this.#target), ...given].map(shellWord).join(' ');
  }

  #print(event: Event, result: ForwardResult | undefined): void {
    const { terminal } = this.#context;
    if (!result) {
      terminal.line(tailLine(event, terminal));
      return;
    }
    const isGood = isAccepted(result);
    const outcome = result.status === null ? 'no response' : String(result.status);
    const time = terminal.paint('dim', `${event.created_at.slice(11, 19)}Z`);
    const verdict = terminal.paint(isGood ? 'green' : 'red', `${outcome} in ${result.durationMs} ms`);
    terminal.line(`${time}  ${terminal.paint('cyan', event.type.padEnd(23))}  ${event.id}  ${verdict}`);
    if (isGood) return;
    const said = failureText(result);
    if (said !== '') terminal.line(`${indent}${said.replaceAll('\n', `\n${indent}`)}`);
    terminal.hint(`${indent}Send it again: ${this.#commandFor(event)}`);
  }
}

function failureText({ failure, location, response }: ForwardResult): string {
  if (failure) return `${failure.error}. ${failure.remedy}`;
  return location === null
    ? responseText(response)
    : `The receiver redirects to ${location}. Redirects are not followed.`;
}

function jsonOf(
  event: Event,
  target: URL | undefined,
  result: ForwardResult | undefined,
  file: string | undefined,
) {
  return {
    event_id: event.id,
    type: event.type,
    created_at: event.created_at,
    ...(target && result && forwardedJson(target, result)),
    ...(file !== undefined && { file }),
  };
}
