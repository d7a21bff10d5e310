import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type GatewayErrorCode, toGatewayError } from '@gateway/errors';
import { type AdmissionPeers, admit } from '../admission/admit.ts';
import { authenticate } from '../authentication/authenticate.ts';
import type { TokenCache } from '../authentication/token-cache.ts';
import type { BodyBudget } from '../body/body-budget.ts';
import type { BodyRules } from '../body/body-rules.ts';
import type { EndpointPeers } from '../endpoints/endpoint.ts';
import type { RequestEvents } from '../events.ts';
import type { Route } from '../routes.ts';
import type { RecentTraces } from '../trace/recent-traces.ts';
import { RequestTrace } from '../trace/request-trace.ts';
import { sendError } from './send-error.ts';

export interface RequestPeers {
  readonly tokens: TokenCache;
  readonly admission: AdmissionPeers;
  readonly endpoints: EndpointPeers;
  readonly events: RequestEvents;
  readonly bodies: BodyBudget;
  readonly traces: RecentTraces;
}

/** One request from its route to its last byte: authenticate, admit, answer; whatever is thrown is rendered here. */
export async function handleRequest(
  route: Route,
  request: IncomingMessage,
  response: ServerResponse,
  peers: RequestPeers,
): Promise<void> {
  const requestId = randomUUIDv7();
  const finished = peers.events.requestStarted(route.path);
  const receivedAtMs = peers.endpoints.clock.nowMs();
  const trace = new RequestTrace({ requestId, endpoint: route.path, receivedAtMs });
  if (route.isTraced) peers.traces.begin(trace);
  const client = clientSignal(response);
  using hold = peers.bodies.hold(client);
  const bodyRules = { ...route.body, hold };
  let errorCode: GatewayErrorCode | undefined;
  try {
    await answer(route, { requestId, request, response, signal: client, bodyRules, trace }, peers);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (!client.aborted) errorCode = error.code;
    if (error.code === 'internal_error' && !client.aborted) peers.events.requestFaulted(requestId, route.path, error);
    sendError(request, response, { error, dialect: route.errorDialect, nowMs: peers.endpoints.clock.nowMs() });
  } finally {
    const status = client.aborted ? 499 : response.statusCode;
    trace.onEnded({ status, errorCode, clientLeft: client.aborted, waitedForRoomMs: hold.waitedMs });
    peers.traces.end(trace);
    finished(trace.story, peers.traces.slowMs);
  }
}

interface Exchange {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
  readonly bodyRules: BodyRules;
  readonly trace: RequestTrace;
}

async function answer(route: Route, exchange: Exchange, peers: RequestPeers): Promise<void> {
  const { requestId, request, response, trace } = exchange;
  const principal = await authenticate(request, route.authHeader, peers.tokens);
  trace.onAuthenticated(principal.tokenId);
  const admission =
    route.cost === 'nothing'
      ? { admittedAtMs: peers.endpoints.clock.nowMs(), localDay: '', headers: {} }
      : await admit({ requestId, principal, cost: route.cost }, peers.admission);
  if (route.sendsRateLimitHeaders) {
    for (const [name, value] of Object.entries(admission.headers)) response.setHeader(name, value);
  }
  if ('refusal' in admission && admission.refusal !== undefined) throw admission.refusal;
  trace.onAdmitted();
  await route.endpoint(
    { ...exchange, path: route.path, errorDialect: route.errorDialect, principal, admission },
    peers.endpoints,
  );
}

/** Aborted when the connection closes before the answer is out. */
function clientSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
