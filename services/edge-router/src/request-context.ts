import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { CostKind } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { GetUsageResponse } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { CallOptions } from '@gateway/rpc';
import type { Admission, EdgeLimiter } from './admission/admit.ts';
import type { PlaceQueue } from './admission/place-queue.ts';
import type { RunningRequests } from './admission/running-requests.ts';
import type { TypicalTokens } from './admission/typical-tokens.ts';
import type { Leases } from './attempts/leases.ts';
import type { AuthHeader } from './authentication/authenticate.ts';
import type { BodyLimits, BodyRules } from './body/read-body.ts';
import type { EdgeRouterConfig } from './config.ts';
import type { SharedQueries } from './endpoints/shared-queries.ts';
import type { ErrorDialect } from './errors/render-error.ts';
import type { GenAiOperation, RequestEvents } from './events.ts';
import type { Patience } from './patience.ts';
import type { EdgeRouterPeers } from './peers.ts';
import type { Pricing } from './pricing/pricing.ts';
import type { ManagedClients } from './sign-in/managed-settings.ts';
import type { Outbox } from './usage/outbox.ts';
import type { RequestLogEntry } from './usage/request-log.ts';

/** One endpoint of the public API: what path and method alone determine. */
export interface Route {
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly errorDialect: ErrorDialect;
  /** The header for the token in the specification; the other kind is accepted too. */
  readonly authHeader: AuthHeader;
  /** What a request costs its token. Undefined: nothing, and it takes no slot. */
  readonly cost: CostKind | undefined;
  /**
   * The model operation of the endpoint: then its answers carry `x-ratelimit-*`, and its requests
   * are in the request log. Undefined: it uses no model.
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
  /** Aborted when the client disconnects before the answer is sent. */
  readonly signal: AbortSignal;
  /** Records the course of the request for operators. */
  readonly logEntry: RequestLogEntry;
  /** For all decisions of other services that come before the answer. */
  readonly patience: Patience;
  readonly token: Token;
  readonly admission: Admission;
  /** The bodies that the endpoint accepts. */
  readonly bodyRules: BodyRules;
}

/** The services that endpoints use. */
export interface EndpointPeers extends Pick<EdgeRouterPeers, 'broker' | 'adapters' | 'usageQuery'> {
  readonly config: EdgeRouterConfig;
  /** How long a request waits for decisions. */
  readonly patienceMs: number;
  /** The deadline of a call to a service; the answer may come later than its request waits. */
  readonly deadline: Pick<CallOptions, 'timeoutMs'>;
  readonly limiter: EdgeLimiter;
  readonly running: RunningRequests;
  readonly places: PlaceQueue;
  readonly typicalTokens: TypicalTokens;
  readonly usageReports: SharedQueries<UsageReport>;
  readonly leases: Leases;
  readonly outbox: Outbox;
  readonly pricing: Pricing;
  readonly managed: ManagedClients;
  readonly events: RequestEvents;
}

/** A token's usage, and the limits that are set for it. */
export interface UsageReport {
  readonly used: GetUsageResponse;
  readonly limits: Readonly<Record<'requestsPerMinute' | 'tokensPerDay', LimitObject | null>>;
}

/** @see spec "Usage object" */
export interface LimitObject {
  readonly limit: number;
  readonly remaining: number;
  readonly resetsAt: string;
}

/** Answers a request, or throws a GatewayError for the server to render. */
export type Endpoint = (request: AdmittedRequest, peers: EndpointPeers) => Promise<void>;
