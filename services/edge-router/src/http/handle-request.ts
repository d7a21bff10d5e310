import type { IncomingMessage, ServerResponse } from 'node:http';
import { type GatewayErrorCode, toGatewayError } from '@gateway/errors';
import { type AdmissionDecision, type AdmissionPeers, admit } from '../admission/admit.ts';
import { authenticate } from '../authentication/authenticate.ts';
import type { Principal } from '../authentication/principal.ts';
import type { TokenCache } from '../authentication/token-cache.ts';
import type { BodyAllocation, BodyMemory } from '../body/body-memory.ts';
import type { EndpointPeers } from '../endpoints/endpoint.ts';
import { whenThere } from '../endpoints/when-there.ts';
import type { RequestEvents } from '../events.ts';
import type { Route } from '../routes.ts';
import { type RequestLog, RequestLogEntry } from '../usage/request-log.ts';
import { keepHeaders } from './answer-head.ts';
import { ClientPresence } from './client-presence.ts';
import { clientRequestIdOf, nameForMessages, requestIdOf } from './request-id.ts';
import { sendError } from './send-error.ts';
import { hasStalled } from './stalled-clients.ts';

export interface RequestPeers {
  readonly tokens: TokenCache;
  readonly admission: AdmissionPeers;
  readonly endpoints: EndpointPeers;
  readonly events: RequestEvents;
  readonly bodies: BodyMemory;
  readonly requestLog: RequestLog;
}

/** One request from its route to its last byte: authenticate, admit, answer; whatever is thrown is rendered here. */
export async function handleRequest(
  route: Route,
  request: IncomingMessage,
  response: ServerResponse,
  peers: RequestPeers,
): Promise<void> {
  const requestId = requestIdOf(response);
  if (route.errorDialect === 'messages') nameForMessages(response);
  peers.events.requestStarted();
  const receivedAtMs = peers.endpoints.clock.nowMs();
  const clientRequestId = clientRequestIdOf(request);
  const slowMs = peers.endpoints.config.traceSlowMs;
  const trace = new RequestLogEntry({ requestId, clientRequestId, endpoint: route.path, receivedAtMs, slowMs });
  const client = clientOf(request, response);
  using allocation = peers.bodies.open(client);
  const exchange: Exchange = { requestId, request, response, client, allocation, trace };
  let errorCode: GatewayErrorCode | undefined;
  try {
    await answer(route, exchange, peers);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (!client.hasLeft) errorCode = error.code;
    if (error.code === 'internal_error' && !client.hasLeft) peers.events.requestFaulted(requestId, route.path, error);
    sendError(request, response, { error, dialect: route.errorDialect, nowMs: peers.endpoints.clock.nowMs() });
  } finally {
    await sentOrLeft(request, response);
    if (client.hasStalled) trace.onClientStalled();
    const status = client.hasLeft ? 499 : response.statusCode;
    trace.onEnded({ status, errorCode, clientLeft: client.hasLeft, waitedForRoomMs: allocation.waitedMs });
    if (route.isLogged) peers.requestLog.add(trace);
    peers.events.requestEnded(trace.message);
  }
}

interface Exchange {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly client: ClientPresence;
  readonly allocation: BodyAllocation;
  readonly trace: RequestLogEntry;
}

/** Throws, at once or later, whatever is to be rendered. */
function answer(route: Route, exchange: Exchange, peers: RequestPeers): Promise<void> {
  const { requestId, request, trace } = exchange;
  return whenThere(authenticate(request, route.authHeader, peers.tokens), (principal) => {
    trace.onAuthenticated(principal.tokenId);
    const decided: Promise<AdmissionDecision> | AdmissionDecision =
      route.cost === 'nothing'
        ? { admittedAtMs: peers.endpoints.clock.nowMs(), localDay: '', headers: {} }
        : admit({ requestId, principal, cost: route.cost }, peers.admission);
    return whenThere(decided, (admission) => answerAdmitted(route, exchange, { principal, admission }, peers));
  });
}

function answerAdmitted(
  { path, errorDialect, body, sendsRateLimitHeaders, endpoint }: Route,
  { requestId, request, response, client, allocation, trace }: Exchange,
  { principal, admission }: { readonly principal: Principal; readonly admission: AdmissionDecision },
  peers: RequestPeers,
): Promise<void> {
  if (sendsRateLimitHeaders) keepHeaders(response, admission.headers);
  if (admission.refusal !== undefined) throw admission.refusal;
  trace.onAdmitted();
  allocation.chargeTo(principal.tokenId);
  const bodyRules = { ...body, pace: peers.endpoints.config.uploadPace, allocation };
  return endpoint(
    { requestId, path, errorDialect, bodyRules, request, response, principal, admission, client, trace },
    peers.endpoints,
  );
}

/** It has left when the connection closes before the answer is out. */
function clientOf({ socket: connection }: IncomingMessage, response: ServerResponse): ClientPresence {
  const client = new ClientPresence();
  // It comes once.
  response.on('close', () => {
    if (!response.writableFinished) client.leave(hasStalled(connection));
  });
  return client;
}

/** Resolves when the system has all of the answer, which takes as long as the client does for a large one, or can't have it. */
async function sentOrLeft({ socket: connection }: IncomingMessage, response: ServerResponse): Promise<void> {
  // One that has no end yet was refused while its client goes on uploading.
  const isOver = !response.writableEnded || response.writableFinished || response.closed;
  if (isOver || connection.destroyed) return;
  const sent = Promise.withResolvers<void>();
  // An answer that waits for earlier ones of its connection hears nothing of that one's end.
  response.once('close', sent.resolve);
  connection.once('close', sent.resolve);
  await sent.promise;
  connection.off('close', sent.resolve);
}
