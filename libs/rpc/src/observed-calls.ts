import type { DescMethod } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { toGatewayError } from '@gateway/errors';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import {
  activeSpan,
  failSpan,
  type Gauge,
  type Histogram,
  type Metrics,
  type Span,
  SpanKind,
  startSpan,
  withSpan,
} from '@gateway/telemetry';
import { monotonicMs } from '@gateway/time';
import { status } from '@grpc/grpc-js';
import { codeOf, RpcError } from './errors.ts';
import { pathOf } from './served-methods.ts';

/**
 * Measures the calls that one side makes or serves over the network, on streams of their own and on
 * shared streams, and creates spans for calls that are part of a trace. Direct calls are plain
 * functions: they are not measured, and their trace continues without a span.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/rpc/
 */
export class CallObserver {
  readonly side: 'client' | 'server';
  /** The protocol's name in OpenTelemetry. */
  readonly system: 'grpc' | 'connectrpc';
  readonly durations: Histogram<DurationLabel> | undefined;
  readonly inFlight: Gauge<'rpc_method'> | undefined;

  constructor(side: 'client' | 'server', metrics?: Metrics, system: 'grpc' | 'connectrpc' = 'grpc') {
    this.side = side;
    this.system = system;
    this.durations = metrics?.histogram({
      name: `rpc_${side}_call_duration_seconds`,
      help: side === 'client' ? 'Duration of calls to other services.' : 'Duration of served calls.',
      labels: ['rpc_system_name', 'rpc_method', 'rpc_response_status_code', 'error_type'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    });
    if (side === 'client') return;
    this.inFlight = metrics?.gauge({
      name: 'gateway_rpc_server_calls_in_flight',
      help: 'Calls in flight.',
      labels: ['rpc_method'],
    });
  }

  /** Wraps a call to measure it. @param traceparent the one that a server received with the call */
  observe<T>(method: DescMethod, call: Responses<T>, traceparent?: string): ObservedCall<T> {
    return new ObservedCall(new CallRecord(this, method, traceparent), call);
  }

  /** Makes a call with a single answer and measures it. */
  async observeOnce<T>(method: DescMethod, call: () => Promise<T>, traceparent?: string): Promise<T> {
    const record = new CallRecord(this, method, traceparent);
    record.begin();
    try {
      const answer = await record.within(call);
      record.end('OK');
      return answer;
    } catch (thrown) {
      record.end(statusOf(thrown));
      throw thrown;
    }
  }
}

type DurationLabel = 'rpc_system_name' | 'rpc_method' | 'rpc_response_status_code' | 'error_type';
type Responses<T> = AsyncIterableIterator<T, undefined>;

/** Starts with the first `next()` and ends with the call, or when its caller leaves the loop. */
class ObservedCall<T> implements AsyncIterableIterator<T, undefined> {
  readonly #record: CallRecord;
  readonly #call: Responses<T>;

  constructor(record: CallRecord, call: Responses<T>) {
    this.#record = record;
    this.#call = call;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    this.#record.begin();
    try {
      const result = await this.#record.within(() => this.#call.next());
      if (result.done) this.end('OK');
      return result;
    } catch (thrown) {
      this.end(statusOf(thrown));
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.end('CANCELLED');
    await this.#record.within(() => this.#call.return?.());
    return { done: true, value: undefined };
  }

  /** The first reported end counts. */
  end(code: string): void {
    this.#record.end(code);
  }
}

/** The measurements of one call. */
class CallRecord {
  readonly #observer: CallObserver;
  readonly #method: DescMethod;
  readonly #name: string;
  readonly #traceparent: string | undefined;
  #startMs: number | undefined;
  #span: Span | undefined;
  #hasEnded = false;

  constructor(observer: CallObserver, method: DescMethod, traceparent: string | undefined) {
    this.#observer = observer;
    this.#method = method;
    this.#name = pathOf(method).slice(1);
    this.#traceparent = traceparent;
  }

  /** Only the first call has an effect. */
  begin(): void {
    if (this.#startMs !== undefined) return;
    this.#startMs = monotonicMs();
    this.#observer.inFlight?.inc({ rpc_method: this.#name });
    this.#span = this.#startSpan();
  }

  /** The first reported end counts. */
  end(code: string): void {
    if (this.#hasEnded || this.#startMs === undefined) return;
    this.#hasEnded = true;
    const rpc_method = this.#name;
    const error_type = code === 'OK' ? '' : code;
    const labels = { rpc_system_name: this.#observer.system, rpc_method, rpc_response_status_code: code, error_type };
    const seconds = (monotonicMs() - this.#startMs) / 1_000;
    this.within(() => this.#observer.durations?.observe(labels, seconds));
    this.#observer.inFlight?.dec({ rpc_method });
    this.#span?.setAttribute('rpc.response.status_code', code);
    if (this.#span && isFailure(code, this.#observer.side)) failSpan(this.#span, code);
    this.#span?.end();
  }

  /** Runs `work` as part of the call's trace. */
  within<R>(work: () => R): R {
    return this.#span === undefined ? work() : withSpan(this.#span, work);
  }

  #startSpan(): Span | undefined {
    const { side } = this.#observer;
    // Calls continue a trace but never start one.
    if (side === 'server' ? !this.#traceparent : activeSpan() === undefined) return undefined;
    // This stream lasts as long as its client.
    if (this.#method === LimiterService.method.admitStream) return undefined;
    return startSpan(this.#name, {
      kind: side === 'client' ? SpanKind.CLIENT : SpanKind.SERVER,
      attributes: { 'rpc.system.name': this.#observer.system, 'rpc.method': this.#name },
      traceparent: this.#traceparent,
    });
  }
}

function statusOf(thrown: unknown): string {
  if (thrown instanceof ConnectError) return status[thrown.code] ?? 'UNKNOWN';
  return status[codeOf(thrown instanceof RpcError ? thrown : toGatewayError(thrown))] ?? 'UNKNOWN';
}

/** A caller's mistake, or a caller that left, is not a failure of the server. */
function isFailure(code: string, side: 'client' | 'server'): boolean {
  return side === 'client' ? code !== 'OK' : failuresOfServers.has(code);
}

const failuresOfServers = new Set([
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
]);
