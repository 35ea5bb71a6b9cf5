/** The parts of a trace span that the traced code uses. */
export interface TraceSpan<Result> {
  /** The span as the value of the W3C header `traceparent`. */
  readonly traceparent: string;
  end(result: Result): void;
}

/** The fields of a parsed `traceparent`. */
export interface TraceParent {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

/** Parses a W3C `traceparent`. Returns undefined for anything else, because the standard then requires a new trace. */
export function parseTraceparent(text: string | undefined): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest = ''] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/.exec(text ?? '') ?? [];
  const isValid = version !== undefined && version !== 'ff' && (version !== '00' || rest === '');
  if (!isValid || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}
