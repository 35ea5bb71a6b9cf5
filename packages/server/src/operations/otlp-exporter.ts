import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { ConfigError } from '../settings/config.js';

type Environment = Record<string, string | undefined>;
type Nanoseconds = ReadableSpan['startTime'];

export interface OtlpTarget {
  url: string;
  headers: Record<string, string>;
  timeoutMs: number;
  /** The attributes of this process. */
  resource: Record<string, string>;
}

/**
 * Returns where to send traces, from the standard variables; undefined if they do not ask for traces. Only OTLP over HTTP
 * with JSON is supported.
 */
export function otlpTarget(env: Environment, version: string): OtlpTarget | undefined {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = env;
  const exporter = env.OTEL_TRACES_EXPORTER;
  const isWanted = exporter === 'otlp' || (exporter === undefined && Boolean(own || shared));
  if (!isWanted || env.OTEL_SDK_DISABLED === 'true') return undefined;
  refuseGrpc(env);
  const base = (shared || 'http://localhost:4318').replace(/\/$/, '');
  const url = own || `${base}/v1/traces`;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    const name = own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT';
    throw new ConfigError(
      `${name}: the value (not shown) is not valid. Expected an http or https URL, such as http://collector:4318.`,
    );
  }
  return {
    url,
    headers: pairs(env.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? env.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMs: Number(env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? env.OTEL_EXPORTER_OTLP_TIMEOUT) || 10_000,
    resource: {
      'service.name': env.OTEL_SERVICE_NAME || 'posthorn',
      'service.version': version,
      ...pairs(env.OTEL_RESOURCE_ATTRIBUTES),
    },
  };
}

/** Refuses gRPC, which has a port of its own. A collector accepts JSON wherever it accepts protobuf over HTTP. */
function refuseGrpc(env: Environment): void {
  const [own, shared] = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'] as const;
  const name = env[own] ? own : shared;
  if (env[name] !== 'grpc') return;
  throw new ConfigError(
    `${name}: "grpc" is not supported. Expected http/json and an endpoint with the collector's HTTP port, such as 4318.`,
  );
}

/** Parses `key=value,key=value` with percent-encoded values. */
function pairs(text = ''): Record<string, string> {
  const entries = text.split(',').flatMap((pair) => {
    const [, key, value = ''] = /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? [];
    return key === undefined ? [] : [[key, decode(value.trim())] as const];
  });
  return Object.fromEntries(entries);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Called with the error when sending begins to fail, and without one when it works again. */
type OnChange = (error?: Error) => void;

/** Sends spans to a collector. A failure loses spans, never a delivery. */
export class OtlpExporter implements SpanExporter {
  readonly #target: OtlpTarget;
  readonly #onChange: OnChange;
  #isFailing = false;

  constructor(target: OtlpTarget, onChange: OnChange) {
    this.#target = target;
    this.#onChange = onChange;
  }

  export(spans: ReadableSpan[], done: (result: { code: 0 }) => void): void {
    // Report success even after a failure: the SDK does not retry, and would throw when the process stops.
    this.#send(spans)
      .then(
        () => this.#report(),
        (error: Error) => this.#report(error),
      )
      .then(() => done({ code: 0 }));
  }

  #report(error?: Error): void {
    const isFailing = error !== undefined;
    if (isFailing !== this.#isFailing) this.#onChange(error);
    this.#isFailing = isFailing;
  }

  async #send(spans: readonly ReadableSpan[]): Promise<void> {
    const { url, headers, timeoutMs, resource } = this.#target;
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        resourceSpans: [
          {
            resource: { attributes: attributesOf(resource) },
            scopeSpans: [{ scope: { name: 'posthorn' }, spans: spans.map(spanOf) }],
          },
        ],
      }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the collector responded with ${response.status}`);
  }

  async shutdown(): Promise<void> {}
}

function spanOf(span: ReadableSpan): object {
  const { traceId, spanId } = span.spanContext();
  return {
    traceId,
    spanId,
    parentSpanId: span.parentSpanContext?.spanId ?? '',
    name: span.name,
    // Kinds start at 1 in OTLP, and at 0 in the API.
    kind: span.kind + 1,
    startTimeUnixNano: nanoseconds(span.startTime),
    endTimeUnixNano: nanoseconds(span.endTime),
    attributes: attributesOf(span.attributes),
    status: { code: span.status.code, message: span.status.message ?? '' },
  };
}

const nanoseconds = ([seconds, rest]: Nanoseconds) => `${seconds}${String(rest).padStart(9, '0')}`;

function attributesOf(attributes: ReadableSpan['attributes']): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: String(value) },
  }));
}
