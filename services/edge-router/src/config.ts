import { join } from 'node:path';
import { type Environment, EnvReader, readMaxStreamSeconds } from '@gateway/config';
import { mostWorkers, parseWorkerCount } from '@gateway/lifecycle/worker-count';
import { natsUrls } from '@gateway/usage-stream/nats-urls';
import type { UploadPace } from './body/receive-upload.ts';
import { type OutboxSynchronous, outboxSynchronous } from './usage/outbox-file.ts';

const failureModes = ['local', 'closed'] as const;

/** Settings of the edge. Every one has a default that is safe in production. */
export interface EdgeRouterConfig {
  /** HOST (127.0.0.1) */
  readonly host: string;
  /** PORT (8080): the public HTTP port; 0 picks a free one. */
  readonly port: number;
  /** GATEWAY_DATA (./data): the usage outbox is in its folder `outbox`. */
  readonly outboxFolder: string;
  /** EDGE_OUTBOX_SYNCHRONOUS (off): SQLite's `synchronous` of the outbox, what of it survives a power loss: `off`, `normal` or `full`. */
  readonly outboxSynchronous: OutboxSynchronous;
  /** EDGE_OUTBOX_MEMORY_EVENTS (10000): most usage events that wait in memory while the disk takes nothing. */
  readonly outboxMemoryEvents: number;
  /** TOKEN_CACHE_SECONDS (30): how long a resolved token is believed without asking again. */
  readonly tokenCacheMs: number;
  /** RPC_TIMEOUT_MS (1000): deadline of every short call to another service. */
  readonly rpcTimeoutMs: number;
  /**
   * LIMITER_FAILURE_MODE (local): while the limiter is away, `local` decides by this edge's share of each limit; `closed` fails with
   * internal_error.
   */
  readonly limiterFailureMode: (typeof failureModes)[number];
  /** LIMITER_LOCAL_MAX_SECONDS (300): how long one outage of the limiter may be bridged so before it fails as `closed`. */
  readonly limiterLocalMaxMs: number;
  /** HEADERS_TIMEOUT_SECONDS (15): a client that has not sent its headers by then is cut off. */
  readonly headersTimeoutMs: number;
  /** BODY_TIMEOUT_SECONDS (300): a client that has not sent its whole request by then is cut off. */
  readonly bodyTimeoutMs: number;
  /** WRITE_STALL_SECONDS (60): a client that takes nothing of its answer for so long is cut off. */
  readonly writeStallMs: number;
  /** MAX_STREAM_SECONDS (3600): no request goes on for longer than this; an answer that does is ended with an error. */
  readonly maxStreamMs: number;
  /**
   * A body that arrives slower ends with 408. BODY_IDLE_TIMEOUT_SECONDS (20): longest time without a byte. BODY_MIN_KIB_PER_SECOND
   * (4): least rate, on average over each BODY_MIN_RATE_SECONDS (60); 0: any.
   */
  readonly uploadPace: UploadPace;
  /** BODY_MEMORY_MAX_MIB (512): most bytes of request bodies in memory at a time; requests beyond it wait, then get 503. */
  readonly bodyMemoryMaxBytes: number;
  /** HEARTBEAT_SECONDS (15): an SSE comment is sent when a running stream was silent for so long, or up to a second longer. */
  readonly heartbeatMs: number;
  /** EDGE_TRACE_SLOW_SECONDS (30): a request whose answer had not begun by then, once it was read, is logged as slow. */
  readonly traceSlowMs: number;
}

export function readEdgeRouterConfig(env: Environment): EdgeRouterConfig {
  const reader = new EnvReader(env);
  const config: EdgeRouterConfig = {
    host: reader.string('HOST', '127.0.0.1'),
    port: reader.port('PORT', 8080),
    outboxFolder: join(reader.string('GATEWAY_DATA', './data'), 'outbox'),
    outboxSynchronous: reader.oneOf('EDGE_OUTBOX_SYNCHRONOUS', outboxSynchronous, 'off'),
    outboxMemoryEvents: reader.integer('EDGE_OUTBOX_MEMORY_EVENTS', 10_000, { min: 100, max: 1_000_000 }),
    tokenCacheMs: reader.integer('TOKEN_CACHE_SECONDS', 30, { max: 30 }) * 1_000,
    rpcTimeoutMs: reader.integer('RPC_TIMEOUT_MS', 1_000, { min: 10, max: 60_000 }),
    limiterFailureMode: reader.oneOf('LIMITER_FAILURE_MODE', failureModes, 'local'),
    limiterLocalMaxMs: reader.integer('LIMITER_LOCAL_MAX_SECONDS', 300, { max: 86_400 }) * 1_000,
    headersTimeoutMs: reader.integer('HEADERS_TIMEOUT_SECONDS', 15, { min: 1, max: 300 }) * 1_000,
    bodyTimeoutMs: reader.integer('BODY_TIMEOUT_SECONDS', 300, { min: 1, max: 3_600 }) * 1_000,
    writeStallMs: reader.integer('WRITE_STALL_SECONDS', 60, { min: 1, max: 3_600 }) * 1_000,
    maxStreamMs: readMaxStreamSeconds(reader) * 1_000,
    uploadPace: {
      idleMs: reader.integer('BODY_IDLE_TIMEOUT_SECONDS', 20, { min: 1, max: 3_600 }) * 1_000,
      leastBytesPerSecond: reader.integer('BODY_MIN_KIB_PER_SECOND', 4, { max: 1_024 }) * 1_024,
      windowMs: reader.integer('BODY_MIN_RATE_SECONDS', 60, { min: 1, max: 3_600 }) * 1_000,
    },
    bodyMemoryMaxBytes: reader.integer('BODY_MEMORY_MAX_MIB', 512, { min: 64, max: 1024 * 1024 }) * 1024 * 1024,
    heartbeatMs: reader.integer('HEARTBEAT_SECONDS', 15, { min: 1, max: 300 }) * 1_000,
    traceSlowMs: reader.integer('EDGE_TRACE_SLOW_SECONDS', 30, { min: 1, max: 3_600 }) * 1_000,
  };
  reader.done();
  return Object.freeze(config);
}

/** EDGE_WORKERS (1): processes that serve on the edge's port; `auto`: one for each core. */
export function readEdgeWorkers(env: Environment): number {
  const reader = new EnvReader(env);
  const text = reader.string('EDGE_WORKERS', '1');
  const count = parseWorkerCount(text);
  if (count === undefined)
    reader.problem(`EDGE_WORKERS must be auto or a number from 1 to ${mostWorkers}, not "${text}".`);
  reader.done();
  return count ?? 1;
}

/** Where a stand-alone edge finds the other services. */
export interface EdgeRouterPeerUrls {
  /** IDENTITY_URL */
  readonly identity: string;
  /** LIMITER_URL */
  readonly limiter: string;
  /** POOL_BROKER_URL */
  readonly broker: string;
  /** RESPONSES_ADAPTER_URL */
  readonly responsesAdapter: string;
  /** MESSAGES_ADAPTER_URL */
  readonly messagesAdapter: string;
  /** USAGE_QUERY_URL */
  readonly usageQuery: string;
  /** NATS_URL: one server, or several of a cluster. */
  readonly nats: readonly string[];
}

export function readEdgeRouterPeerUrls(env: Environment): EdgeRouterPeerUrls {
  const reader = new EnvReader(env);
  const service = (name: string, why: string, host: string) => reader.requiredUrl(name, why, `http://${host}:50051`);
  const urls: EdgeRouterPeerUrls = {
    identity: service('IDENTITY_URL', 'Tokens are resolved there.', 'identity'),
    limiter: service('LIMITER_URL', 'Requests are admitted there.', 'limiter'),
    broker: service('POOL_BROKER_URL', 'Accounts are chosen there.', 'pool-broker'),
    responsesAdapter: service('RESPONSES_ADAPTER_URL', 'It calls the Responses pool.', 'responses-adapter'),
    messagesAdapter: service('MESSAGES_ADAPTER_URL', 'It calls the Messages pool.', 'messages-adapter'),
    usageQuery: service('USAGE_QUERY_URL', 'GET /v1/usage is answered there.', 'usage-query'),
    nats: natsUrls.required(reader, 'Usage is published there.'),
  };
  reader.done();
  return Object.freeze(urls);
}
