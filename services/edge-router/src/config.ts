import { join } from 'node:path';
import { type Environment, EnvReader, readMaxStreamSeconds, readTrustedProxies } from '@gateway/config';
import { readWorkerCount } from '@gateway/lifecycle/worker-pool';
import { natsServers } from '@gateway/usage-stream/nats-servers';
import { outboxSynchronous } from './usage/outbox-file.ts';

/** The settings of the edge. Every default is safe in production. */
export type EdgeRouterConfig = ReturnType<typeof readEdgeRouterConfig>;

export function readEdgeRouterConfig(env: Environment) {
  const reader = new EnvReader(env);
  const seconds = (name: string, usual: number, range: Range) => reader.integer(name, usual, range) * 1_000;
  const config = {
    host: reader.string('HOST', '127.0.0.1'),
    /** The public HTTP port; 0 picks a free one. */
    port: reader.port('PORT', 8080),
    outboxFolder: join(reader.string('GATEWAY_DATA', './data'), 'outbox'),
    /** SQLite's `synchronous` for the outbox: how much of it survives a power failure. */
    outboxSynchronous: reader.oneOf('EDGE_OUTBOX_SYNCHRONOUS', outboxSynchronous, 'off'),
    /** The maximum number of request records in memory while the disk accepts nothing. */
    outboxMemoryEvents: reader.integer('EDGE_OUTBOX_MEMORY_EVENTS', 10_000, { min: 100, max: 1_000_000 }),
    /** How long a resolved token is trusted without asking again. */
    tokenCacheMs: seconds('TOKEN_CACHE_SECONDS', 30, { max: 30 }),
    /**
     * How long a request waits in total for decisions of other services: who sends it, whether it
     * is admitted, which account takes it. After that it is answered with 503.
     */
    admissionPatienceMs: seconds('ADMISSION_PATIENCE_SECONDS', 15, { min: 1, max: 300 }),
    /**
     * While the limiter is away, `local` decides by this edge's share of each limit, and `closed`
     * refuses with 503.
     */
    limiterFailureMode: reader.oneOf('LIMITER_FAILURE_MODE', failureModes, 'local'),
    /**
     * How long the edge may decide locally in one outage of the limiter; after that it fails as
     * `closed`.
     */
    limiterLocalMaxMs: seconds('LIMITER_LOCAL_MAX_SECONDS', 300, { max: 86_400 }),
    /**
     * How long a request waits for a lease if the most requests at a time run; 0: it is refused at
     * once.
     */
    leaseQueueMs: seconds('CONCURRENCY_QUEUE_SECONDS', 0, { min: 0, max: 300 }),
    /** The most output tokens of one request that a group's budget reserves for. */
    reservedOutputTokensMax: reader.integer('RESERVED_OUTPUT_TOKENS_MAX', 32_000, { min: 1, max: 10_000_000 }),
    /**
     * How long a client may take to send its headers, or its whole request, before its connection
     * is closed.
     */
    headersTimeoutMs: seconds('HEADERS_TIMEOUT_SECONDS', 15, { min: 1, max: 300 }),
    bodyTimeoutMs: seconds('BODY_TIMEOUT_SECONDS', 300, upToAnHour),
    /** How long a client may read nothing of its answer before its connection is closed. */
    writeStallMs: seconds('WRITE_STALL_SECONDS', 60, upToAnHour),
    /** The maximum duration of a request; a longer answer ends with an error. */
    maxStreamMs: readMaxStreamSeconds(reader) * 1_000,
    /** A slower upload ends with 408. */
    uploadPace: {
      idleMs: seconds('BODY_IDLE_TIMEOUT_SECONDS', 20, upToAnHour),
      leastBytesPerSecond: reader.integer('BODY_MIN_KIB_PER_SECOND', 4, { max: 1_024 }) * 1_024,
      windowMs: seconds('BODY_MIN_RATE_SECONDS', 60, upToAnHour),
    },
    /**
     * The maximum number of bytes of request bodies in memory; further requests wait, and then get
     * 503.
     */
    bodyMemoryMaxBytes: reader.integer('BODY_MEMORY_MAX_MIB', 512, { min: 64, max: 1024 * 1024 }) * 1024 * 1024,
    /**
     * A running stream that is silent for this long, or up to a second longer, gets an SSE comment.
     */
    heartbeatMs: seconds('HEARTBEAT_SECONDS', 15, { min: 1, max: 300 }),
    /**
     * Whether a client's `traceparent` decides if its trace is sampled. Otherwise only this gateway
     * decides.
     */
    trustsClientSampling: reader.boolean('TRUST_CLIENT_SAMPLING', false),
    /**
     * A request is logged as slow if its answer does not start within this time after the request
     * was read.
     */
    traceSlowMs: seconds('EDGE_TRACE_SLOW_SECONDS', 30, upToAnHour),
    /**
     * The console's page where people confirm a sign-in: "https://admin.example/device". Without
     * it, no one can sign in from a client.
     */
    signInPageUrl: reader.optionalUrl('SIGN_IN_PAGE_URL', 'https://admin.example/device', ['https', 'http']),
    /** The proxies whose `X-Forwarded-For` names the client, for bounds and the sign-in page. */
    trustedProxies: readTrustedProxies(reader, 'TRUSTED_PROXIES'),
    /**
     * The address of this API for clients: "https://gateway.example". By default, it is the one
     * that a client uses.
     */
    publicUrl: reader
      .optionalUrl('PUBLIC_URL', 'https://gateway.example', ['https', 'http'])
      ?.replace(/(?<!\/)\/+$/, ''),
    /**
     * The models that /.well-known/opencode names, separated by commas. Anyone can read them.
     * Without any, opencode has to be configured on each machine.
     */
    opencodeModels: reader
      .string('OPENCODE_MODELS', '')
      .split(',')
      .map((model) => model.trim())
      .filter(Boolean),
  } as const;
  reader.done();
  return Object.freeze(config);
}

type Range = Parameters<EnvReader['integer']>[2];
const failureModes = ['local', 'closed'] as const;
const upToAnHour = { min: 1, max: 3_600 };

/** EDGE_WORKERS (1): processes that serve the edge's port; `auto`: one per core. */
export function readEdgeWorkers(env: Environment): number {
  const reader = new EnvReader(env);
  const count = readWorkerCount(reader, 'EDGE_WORKERS');
  reader.done();
  return count;
}

/** The addresses of the other services for a stand-alone edge. */
export function readEdgeRouterPeerUrls(env: Environment) {
  const reader = new EnvReader(env);
  const service = (name: string, why: string, host: string) => reader.peerUrl(name, why, `http://${host}:50051`);
  const urls = {
    identity: service('IDENTITY_URL', 'The identity service resolves tokens.', 'identity'),
    limiter: service('LIMITER_URL', 'The limiter enforces limits.', 'limiter'),
    broker: service('POOL_BROKER_URL', 'The pool broker selects accounts.', 'pool-broker'),
    responsesAdapter: service(
      'RESPONSES_ADAPTER_URL',
      'The adapter sends requests to the Responses pool.',
      'responses-adapter',
    ),
    messagesAdapter: service(
      'MESSAGES_ADAPTER_URL',
      'The adapter sends requests to the Messages pool.',
      'messages-adapter',
    ),
    usageQuery: service('USAGE_QUERY_URL', 'The service answers GET /v1/usage.', 'usage-query'),
    nats: natsServers.required(reader, 'NATS carries usage to the ledger.'),
  };
  reader.done();
  return Object.freeze(urls);
}
