import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@gateway/time';
import type { Admission } from '../admission/admit.ts';
import type { OutageTolerantLimiter } from '../admission/outage-tolerant-limiter.ts';
import type { Leases } from '../attempts/leases.ts';
import type { Principal } from '../authentication/authenticate.ts';
import type { BodyRules } from '../body/read-body.ts';
import type { EdgeRouterConfig } from '../config.ts';
import type { Route } from '../routes.ts';
import type { EdgeRouterPeers } from '../service.ts';
import type { Outbox } from '../usage/outbox.ts';
import type { RequestLogEntry } from '../usage/request-log.ts';

/** A request on its way through the edge. */
export interface RequestContext {
  /** UUIDv7: the limiter's idempotency key, the ledger's primary key, the log's id. */
  readonly requestId: string;
  readonly route: Route;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborted when the client leaves before the answer is out, with a `ClientLeft` for a reason. */
  readonly signal: AbortSignal;
  /** Records for operators what becomes of the request. */
  readonly trace: RequestLogEntry;
}

/** A request that has passed authentication and admission. */
export interface AdmittedRequest extends RequestContext {
  readonly principal: Principal;
  readonly admission: Admission;
  /** What the endpoint takes for a body. */
  readonly bodyRules: BodyRules;
}

/** What endpoints work with. */
export interface EndpointPeers extends Pick<EdgeRouterPeers, 'broker' | 'adapters' | 'usageQuery'> {
  readonly config: EdgeRouterConfig;
  readonly clock: Clock;
  readonly limiter: OutageTolerantLimiter;
  readonly leases: Leases;
  readonly outbox: Outbox;
}

/** Answers a request, or throws a GatewayError for the server to render. */
export type Endpoint = (request: AdmittedRequest, peers: EndpointPeers) => Promise<void>;
