import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { GatewayError, type GatewayErrorCode, toGatewayError } from '@gateway/errors';
import express from 'express';
import { admit } from '../admission/admit.ts';
import { authenticate, type TokenCache } from '../authentication/authenticate.ts';
import { type BodyAllocation, BodyMemory } from '../body/body-memory.ts';
import { HttpFault } from '../errors/render-error.ts';
import type { RequestEvents } from '../events.ts';
import type { EndpointPeers, Route } from '../routes.ts';
import { type RequestLog, RequestLogEntry } from '../usage/request-log.ts';
import { clientRequestIdOf, clientSignal, nameForMessages, requestIdOf, sendError, sentOrLeft } from './respond.ts';
import { hasStalled } from './stalled-clients.ts';

export interface AppPeers extends EndpointPeers {
  readonly tokens: TokenCache;
  readonly events: RequestEvents;
  readonly requestLog: RequestLog;
}

/** The public API. 404 and 405 are decided by path and method, before anything else. */
export function createApp(routes: readonly Route[], peers: AppPeers): RequestListener {
  const bodies = new BodyMemory({
    limitBytes: peers.config.bodyMemoryMaxBytes,
    largestBodyBytes: Math.max(...routes.map(({ body }) => body.limitBytes)),
    waitMs: bodyWaitMs,
  });
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const route of routes) {
    const path = router.route(route.path);
    path[route.method]((_request, response) => serve(route, response, peers, bodies));
    path.all((request, response) => sendError(response, methodFault(route, request), route.errorDialect));
  }
  // The router alone, without an app, which would change the prototypes of each request and response. It needs what Node gives.
  const dispatch = router as unknown as (...args: [...Parameters<RequestListener>, (thrown?: unknown) => void]) => void;
  return (request, response) => {
    dispatch(request, response, (thrown = new GatewayError('not_found', 'There is no such endpoint.')) =>
      sendError(response, toGatewayError(thrown), 'chat'),
    );
  };
}

/** How long a request waits for room for its body, in all. */
const bodyWaitMs = 5_000;

/** Each request takes the same steps: authenticate, admit, answer. A failure of any step is rendered here. */
async function serve(route: Route, response: ServerResponse, peers: AppPeers, bodies: BodyMemory): Promise<void> {
  const request = response.req;
  const { events, clock, config, requestLog } = peers;
  if (route.errorDialect === 'messages') nameForMessages(response);
  events.requestStarted();
  const requestId = requestIdOf(response);
  const trace = new RequestLogEntry({
    requestId,
    clientRequestId: clientRequestIdOf(request),
    endpoint: route.path,
    receivedAtMs: clock.nowMs(),
    slowMs: config.traceSlowMs,
  });
  const signal = clientSignal(response);
  let allocation: BodyAllocation | undefined;
  let errorCode: GatewayErrorCode | undefined;
  try {
    const token = await authenticate(request, route.authHeader, peers.tokens);
    trace.onAuthenticated(token.tokenId);
    // Before the body is read: a bad request takes a slot too.
    const { refusal, ...admission } = await admit(requestId, token, route.cost, peers);
    if (route.asksModel) response.setHeaders(new Map(Object.entries(admission.headers)));
    if (refusal !== undefined) throw refusal;
    trace.onAdmitted();
    allocation = bodies.open(token.tokenId, signal);
    const bodyRules = { ...route.body, pace: config.uploadPace, allocation };
    await route.endpoint({ requestId, route, request, response, signal, trace, token, admission, bodyRules }, peers);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (!signal.aborted) {
      errorCode = error.code;
      if (errorCode === 'internal_error') events.requestFaulted(requestId, route.path, error);
    }
    sendError(response, error, route.errorDialect, clock.nowMs());
  }
  await sentOrLeft(response, signal);
  allocation?.[Symbol.dispose]();
  const clientLeft = signal.aborted;
  if (clientLeft && hasStalled(request.socket)) trace.onClientStalled();
  const status = clientLeft ? 499 : response.statusCode;
  trace.onEnded({ status, errorCode, clientLeft, waitedForRoomMs: allocation?.waitedMs ?? 0 });
  if (route.asksModel) requestLog.add(trace);
  events.requestEnded(trace.message);
}

/** Each path has one method; what may be got may be asked for its head. */
function methodFault({ method, errorDialect }: Route, request: IncomingMessage): HttpFault {
  if (errorDialect === 'responses' && asksForWebSocket(request)) {
    // Codex tries a WebSocket first, and turns to HTTP at once on this status; others cost it seconds of retries.
    const headers = { upgrade: 'HTTP/1.1', connection: 'Upgrade, close' };
    return new HttpFault(426, 'Responses are streamed over plain HTTP here: use POST.', headers);
  }
  if (method === 'get') return new HttpFault(405, 'Use GET or HEAD here.', { allow: 'GET, HEAD' });
  return new HttpFault(405, 'Use POST here.', { allow: 'POST' });
}

function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && /(?:^|[\s,])websocket(?:$|[\s,])/i.test(headers.upgrade ?? '');
}
