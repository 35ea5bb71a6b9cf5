import * as otel from '@opentelemetry/api';
import type { Logger } from 'pino';
import { parseTraceparent, type TraceSpan } from '../events/event.js';
import type { LeasedDelivery } from '../events/recording-store.js';
import { isDelivered, type Outcome, type Withheld } from '../outcomes/outcome.js';
import { ConfigError, version } from '../settings/config.js';
import { OtlpExporter, type OtlpTarget, otlpTarget } from './otlp-exporter.js';

/** Creates the spans of recordings, deliveries and attempts. */
export interface Tracing {
  /** Starts the span of a recording request. `parent` is what the producer sent as `traceparent`. */
  record(parent: string | undefined, events: number): TraceSpan<Error | undefined>;
  /** Starts the span of an attempt and, for the first one, the span of its delivery. */
  attempt(delivery: LeasedDelivery): TraceSpan<Outcome | Withheld>;
  /** Sends what is left. */
  stop(): Promise<void>;
}

/** Returns the tracing that the standard variables `OTEL_*` ask for; undefined if they ask for none. */
export async function openTracing(
  env: Record<string, string | undefined>,
  logger: Logger,
): Promise<Tracing | undefined> {
  const target = otlpTarget(env, version);
  if (target === undefined) return undefined;
  const provider = await createProvider(target, (error) => {
    if (!error) return logger.info('the collector accepts traces again');
    // The message of `fetch` says only that it failed.
    const { message: reason } = error.cause instanceof Error ? error.cause : error;
    logger.warn({ reason }, 'traces cannot be sent and are dropped until the collector accepts them again');
  });
  return tracingWith(provider.getTracer('posthorn', version), () => provider.shutdown());
}

async function createProvider(target: OtlpTarget, onChange: (error?: Error) => void) {
  // Imported here, because it is optional, and a process without traces should not load it.
  const { BasicTracerProvider, BatchSpanProcessor } = await import('@opentelemetry/sdk-trace-base').catch(
    () => {
      throw new ConfigError('OTEL_*: traces require the package @opentelemetry/sdk-trace-base. Install it.');
    },
  );
  return new BasicTracerProvider({
    spanProcessors: [new BatchSpanProcessor(new OtlpExporter(target, onChange))],
  });
}

function tracingWith(tracer: otel.Tracer, stop: () => Promise<void>): Tracing {
  return {
    stop,
    record: (parent, events) => {
      const attributes = { 'posthorn.events': events };
      const span = tracer.startSpan('record', { kind: otel.SpanKind.SERVER, attributes }, contextOf(parent));
      return {
        traceparent: traceparentOf(span),
        end: (error) => {
          if (error) span.setStatus({ code: otel.SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    attempt: (delivery) => {
      const outer = contextOf(delivery.traceparent);
      const whole = delivery.attempts === 0 ? deliverySpan(tracer, delivery, outer) : undefined;
      const within = whole ? otel.trace.setSpan(outer, whole) : outer;
      const attributes = { ...attributesOf(delivery), 'posthorn.attempt': delivery.attempts + 1 };
      const span = tracer.startSpan('attempt', { kind: otel.SpanKind.CLIENT, attributes }, within);
      return {
        traceparent: traceparentOf(span),
        end: (outcome) => {
          for (const each of whole ? [span, whole] : [span]) endWith(each, outcome);
        },
      };
    },
  };
}

/** Starts the span of a delivery at its commit, so that it shows how long the delivery waited. */
function deliverySpan(tracer: otel.Tracer, delivery: LeasedDelivery, outer: otel.Context): otel.Span {
  const { delivery_created_at: startTime } = delivery;
  return tracer.startSpan(
    'delivery',
    { kind: otel.SpanKind.PRODUCER, startTime, attributes: attributesOf(delivery) },
    outer,
  );
}

/** Returns only IDs and the type: a URL can contain a secret, and a payload is private. */
function attributesOf(delivery: LeasedDelivery): otel.Attributes {
  return {
    'posthorn.organization_id': delivery.organization_id,
    'posthorn.webhook_id': delivery.webhook_id,
    'posthorn.delivery_id': delivery.delivery_id,
    'posthorn.event_id': delivery.event_id,
    'posthorn.event_type': delivery.type,
  };
}

function endWith(span: otel.Span, outcome: Outcome | Withheld): void {
  if (outcome.kind === 'response') span.setAttribute('http.response.status_code', outcome.httpStatus);
  else span.setAttribute('error.type', outcome.kind === 'withheld' ? outcome.reason : outcome.error);
  if (outcome.kind === 'withheld' || !isDelivered(outcome))
    span.setStatus({ code: otel.SpanStatusCode.ERROR });
  span.end();
}

function contextOf(traceparent: string | undefined): otel.Context {
  const parent = parseTraceparent(traceparent);
  return parent
    ? otel.trace.setSpanContext(otel.ROOT_CONTEXT, { ...parent, isRemote: true })
    : otel.ROOT_CONTEXT;
}

function traceparentOf(span: otel.Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
