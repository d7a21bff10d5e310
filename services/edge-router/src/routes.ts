import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { CostKind } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { Clock } from '@gateway/time';
import type { Admission } from './admission/admit.ts';
import type { EdgeLimiter } from './admission/edge-limiter.ts';
import type { Leases } from './attempts/leases.ts';
import type { AuthHeader } from './authentication/authenticate.ts';
import type { BodyLimits, BodyRules } from './body/read-body.ts';
import type { EdgeRouterConfig } from './config.ts';
import { chatCompletions } from './endpoints/chat-completions.ts';
import { countTokens, messages } from './endpoints/messages.ts';
import { models } from './endpoints/models.ts';
import { responses } from './endpoints/responses.ts';
import type { SharedQueries } from './endpoints/shared-queries.ts';
import { type UsageReport, usage } from './endpoints/usage.ts';
import type { ErrorDialect } from './errors/render-error.ts';
import type { GenAiOperation, RequestEvents } from './events.ts';
import type { EdgeRouterPeers } from './service.ts';
import type { Outbox } from './usage/outbox.ts';
import type { RequestLogEntry } from './usage/request-log.ts';

/** One row of the public API: what is decided by path and method alone. */
export interface Route {
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly errorDialect: ErrorDialect;
  /** The header in which the specification wants the token; the other kind is accepted too. */
  readonly authHeader: AuthHeader;
  /** What a request costs its token. Undefined: nothing, it takes no slot. */
  readonly cost: CostKind | undefined;
  /**
   * What it asks of a model: then its answers carry `x-ratelimit-*`, and its requests are in the
   * request log. Undefined: it asks none.
   */
  readonly operation: GenAiOperation | undefined;
  readonly body: BodyLimits;
  readonly endpoint: Endpoint;
}

/** A request that has passed authentication and admission. */
export interface AdmittedRequest {
  /** UUIDv7: the limiter's idempotency key, the ledger's primary key, the log's id. */
  readonly requestId: string;
  readonly route: Route;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborted when the client leaves before the answer is out. */
  readonly signal: AbortSignal;
  /** Records for operators what becomes of the request. */
  readonly logEntry: RequestLogEntry;
  readonly token: Token;
  readonly admission: Admission;
  /** What the endpoint takes for a body. */
  readonly bodyRules: BodyRules;
}

/** What endpoints work with. */
export interface EndpointPeers extends Pick<EdgeRouterPeers, 'broker' | 'adapters' | 'usageQuery'> {
  readonly config: EdgeRouterConfig;
  readonly clock: Clock;
  readonly limiter: EdgeLimiter;
  readonly usageReports: SharedQueries<UsageReport>;
  readonly leases: Leases;
  readonly outbox: Outbox;
  readonly events: RequestEvents;
}

/** Answers a request, or throws a GatewayError for the server to render. */
export type Endpoint = (request: AdmittedRequest, peers: EndpointPeers) => Promise<void>;

const MiB = 1024 * 1024;

/** What asks a model. @see spec "Endpoints", "Size limits" */
const generation = {
  method: 'post',
  cost: CostKind.REQUEST_AND_TOKENS,
  authHeader: 'authorization',
  operation: 'chat',
} as const;
const reading = {
  method: 'get',
  errorDialect: 'chat',
  authHeader: 'authorization',
  operation: undefined,
  body: { limitBytes: 0, acceptsCompression: false },
} as const;
const ofMessages = {
  ...generation,
  errorDialect: 'messages',
  authHeader: 'x-api-key',
  body: { limitBytes: 16 * MiB, acceptsCompression: false },
} as const;

export const routes: readonly Route[] = [
  {
    ...generation,
    path: '/v1/chat/completions',
    errorDialect: 'chat',
    body: { limitBytes: 16 * MiB, acceptsCompression: true },
    endpoint: chatCompletions,
  },
  { ...ofMessages, path: '/v1/messages', endpoint: messages },
  {
    ...ofMessages,
    path: '/v1/messages/count_tokens',
    operation: 'count_tokens',
    cost: CostKind.REQUEST_ONLY,
    endpoint: countTokens,
  },
  {
    ...generation,
    path: '/v1/responses',
    errorDialect: 'responses',
    body: { limitBytes: 64 * MiB, acceptsCompression: true },
    endpoint: responses,
  },
  { ...reading, path: '/v1/models', cost: CostKind.REQUEST_ONLY, endpoint: models },
  { ...reading, path: '/v1/usage', cost: undefined, endpoint: usage },
];
