import type { IncomingMessage } from 'node:http';
import { RequestEnding } from '@gateway/proto/usage/v1/request_log_pb.js';
import { failSpan, type Span, SpanKind, startSpan } from '@gateway/telemetry';
import { methodLabel, otherRoute } from '../request-metrics.ts';
import { failureOf } from '../usage/describe-request.ts';
import type { RequestLogEntry } from '../usage/request-log.ts';

/**
 * The span of a request, which continues the trace that a valid `traceparent` of its client names. It says nothing that clients make,
 * but for the method and path of what is an endpoint.
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span
 */
export function startServerSpan({ method, headers }: IncomingMessage, path: string, requestId: string): Span {
  const label = methodLabel(method);
  const name = path === otherRoute ? label : `${label} ${path}`;
  const traceparent = headers.traceparent;
  const span = startSpan(name, { kind: SpanKind.SERVER, ...(typeof traceparent === 'string' && { traceparent }) });
  if (!span.isRecording()) return span;
  span.setAttributes({ 'http.request.method': label, 'url.scheme': 'http', 'gateway.request_id': requestId });
  return path === otherRoute ? span : span.setAttributes({ 'http.route': path, 'url.path': path });
}

/** Ends it with what became of the request, and whether a collector that samples by the end is to keep the trace. */
export function endServerSpan(span: Span, entry: RequestLogEntry): void {
  if (span.isRecording()) describe(span, entry);
  span.end();
}

/** With `gen_ai.operation.name` it would be a call of a model, as its span `chat` is, and be counted as one. */
function describe(span: Span, { message, lease }: RequestLogEntry): void {
  const { status, ending, slow } = message;
  const hasFailed = status >= 500 || ending === RequestEnding.FAILED;
  span.setAttribute('http.response.status_code', status);
  if (lease?.modelUnlisted === false) span.setAttribute('gen_ai.request.model', lease.model);
  if (hasFailed) failSpan(span, failureOf(message));
  else if (ending !== RequestEnding.COMPLETED) span.setAttribute('error.type', failureOf(message));
  const keep = hasFailed ? 'failed' : slow ? 'slow' : undefined;
  if (keep !== undefined) span.setAttributes({ 'gateway.sampling.keep': true, 'gateway.sampling.reason': keep });
}
