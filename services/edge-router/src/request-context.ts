import type { GetUsageResponse } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { CallOptions } from '@gateway/rpc';
import type { EdgeLimiter } from './admission/admit.ts';
import type { Holds } from './admission/holds.ts';
import type { LeaseQueue } from './admission/lease-queue.ts';
import type { TypicalTokens } from './admission/typical-tokens.ts';
import type { Leases } from './attempts/leases.ts';
import type { AuthHeader } from './authentication/authenticate.ts';
import type { BodyLimits } from './body/read-body.ts';
import type { Call, CallRoute } from './call.ts';
import type { EdgeRouterConfig } from './config.ts';
import type { SharedQueries } from './endpoints/shared-queries.ts';
import type { RequestEvents } from './events.ts';
import type { EdgeRouterPeers } from './peers.ts';
import type { Pricing } from './pricing/pricing.ts';
import type { ManagedClients } from './sign-in/managed-settings.ts';
import type { Outbox } from './usage/outbox.ts';

/** One endpoint of the public API: what path and method alone determine. */
export interface Route extends CallRoute {
  readonly method: 'get' | 'post';
  /** The header for the token in the specification; the other kind is accepted too. */
  readonly authHeader: AuthHeader;
  readonly body: BodyLimits;
  readonly endpoint: Endpoint;
}

/** The services that endpoints use. */
export interface EndpointPeers extends Pick<EdgeRouterPeers, 'broker' | 'adapters' | 'usageQuery'> {
  readonly config: EdgeRouterConfig;
  /** How long a request waits for decisions. */
  readonly patienceMs: number;
  /** The deadline of a call to a service; the answer may come later than its request waits. */
  readonly deadline: Pick<CallOptions, 'timeoutMs'>;
  readonly limiter: EdgeLimiter;
  readonly holds: Holds;
  readonly leaseQueue: LeaseQueue;
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
export type Endpoint = (call: Call, peers: EndpointPeers) => Promise<void>;
