import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { GatewayError, type GatewayErrorCode, toGatewayError } from '@gateway/errors';
import express, { type RequestHandler } from 'express';
import { admit } from '../admission/admit.ts';
import { authenticate, type TokenCache } from '../authentication/authenticate.ts';
import { BodyMemory } from '../body/body-memory.ts';
import { HttpFault } from '../errors/render-error.ts';
import type { RequestEvents } from '../events.ts';
import type { AdmittedRequest, EndpointPeers, RequestContext, Route } from '../routes.ts';
import { type RequestLog, RequestLogEntry } from '../usage/request-log.ts';
import { clientRequestIdOf, clientSignal, nameForMessages, requestIdOf, sendError, sentOrLeft } from './respond.ts';
import { hasStalled } from './stalled-clients.ts';

export interface AppPeers extends EndpointPeers {
  readonly tokens: TokenCache;
  readonly events: RequestEvents;
  readonly requestLog: RequestLog;
}

/**
 * The public API. Each request takes the same steps: begin, authenticate, admit, answer. 404 and 405 are decided by path and
 * method, before all of them. A failure of any step is rendered in one place.
 */
export function createApp(routes: readonly Route[], peers: AppPeers): RequestListener {
  const bodies = new BodyMemory({
    limitBytes: peers.config.bodyMemoryMaxBytes,
    largestBodyBytes: Math.max(...routes.map(({ body }) => body.limitBytes)),
    waitMs: bodyWaitMs,
  });
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const route of routes) {
    const steps = [begin(route, peers), identify(peers), takeSlot(peers), answer(peers, bodies)];
    const path = router.route(route.path);
    if (route.method === 'GET') path.get(...steps);
    else path.post(...steps);
    path.all(refuseMethod(route));
  }
  // The router alone, without an app, which would change the prototypes of each request and response. It needs what Node gives.
  const serve = router as unknown as Serve;
  return (request, response) => {
    const answering: Answer = Object.assign(response, { locals: {} });
    serve(request, answering, (thrown = noSuchEndpoint()) => void fail(thrown, request, answering, peers));
  };
}

/** How long a request waits for room for its body, in all. */
const bodyWaitMs = 5_000;

type Serve = (request: IncomingMessage, response: Answer, done: (thrown?: unknown) => void) => void;

/** An answer with what is known of its request. */
type Answer = ServerResponse & { locals: Partial<AdmittedRequest> };

/** Each step adds to `locals` what the next ones need. */
type Step = RequestHandler<object, unknown, unknown, object, AdmittedRequest & Record<string, unknown>>;

/** There are rules for the body when the request was admitted. */
type BegunRequest = RequestContext & Pick<Partial<AdmittedRequest>, 'bodyRules'>;

function begin(route: Route, { events, clock, config }: AppPeers): Step {
  return (request, response, next) => {
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
    const signal = clientSignal(request, response);
    Object.assign(response.locals, { requestId, route, request, response, signal, trace });
    next();
  };
}

function identify({ tokens }: AppPeers): Step {
  return async (request, { locals }, next) => {
    const principal = await authenticate(request, locals.route.authHeader, tokens);
    locals.trace.onAuthenticated(principal.tokenId);
    Object.assign(locals, { principal });
    next();
  };
}

/** Before the body is read: a bad request takes a slot too. */
function takeSlot(peers: AppPeers): Step {
  return async (_request, response, next) => {
    const { requestId, principal, route, trace } = response.locals;
    const { refusal, ...admission } = await admit({ requestId, principal, cost: route.cost }, peers);
    if (route.sendsRateLimitHeaders) {
      for (const [name, value] of Object.entries(admission.headers)) response.setHeader(name, value);
    }
    if (refusal !== undefined) throw refusal;
    trace.onAdmitted();
    Object.assign(response.locals, { admission });
    next();
  };
}

function answer(peers: AppPeers, bodies: BodyMemory): Step {
  return async (_request, { locals }) => {
    const { route, principal, signal } = locals;
    const allocation = bodies.open(principal.tokenId, signal);
    Object.assign(locals, { bodyRules: { ...route.body, pace: peers.config.uploadPace, allocation } });
    await route.endpoint(locals, peers);
    await finish(locals, peers);
  };
}

/** Renders what a step threw. */
async function fail(thrown: unknown, request: IncomingMessage, response: Answer, peers: AppPeers): Promise<void> {
  const error = toGatewayError(thrown);
  const { requestId, route, signal, trace, bodyRules } = response.locals;
  const clientLeft = signal?.aborted ?? false;
  sendError(request, response, { error, dialect: route?.errorDialect ?? 'chat', nowMs: peers.clock.nowMs() });
  // What is refused by path and method has not begun.
  if (requestId === undefined || route === undefined || signal === undefined || trace === undefined) return;
  if (error.code === 'internal_error' && !clientLeft) peers.events.requestFaulted(requestId, route.path, error);
  const begun = { requestId, route, request, response, signal, trace, bodyRules };
  await finish(begun, peers, clientLeft ? undefined : error.code);
}

/** Records the end of a request, when its answer is out. */
async function finish(
  { route, request, response, signal, trace, bodyRules }: BegunRequest,
  { events, requestLog }: AppPeers,
  errorCode?: GatewayErrorCode,
): Promise<void> {
  await sentOrLeft(response, signal);
  bodyRules?.allocation[Symbol.dispose]();
  if (signal.aborted && hasStalled(request.socket)) trace.onClientStalled();
  const status = signal.aborted ? 499 : response.statusCode;
  const waitedForRoomMs = bodyRules?.allocation.waitedMs ?? 0;
  trace.onEnded({ status, errorCode, clientLeft: signal.aborted, waitedForRoomMs });
  if (route.isLogged) requestLog.add(trace);
  events.requestEnded(trace.message);
}

/** Each path has one method; what may be got may be asked for its head. */
function refuseMethod(route: Route): Step {
  const allow = route.method === 'GET' ? ['GET', 'HEAD'] : [route.method];
  return (request, response) => {
    if (route.errorDialect === 'responses' && asksForWebSocket(request)) throw webSocketFault();
    Object.assign(response.locals, { route });
    response.setHeader('allow', allow.join(', '));
    throw new GatewayError('method_not_allowed', `Use ${allow.join(' or ')} here.`);
  };
}

/** Codex tries a WebSocket first, and turns to HTTP at once on this status; others cost it seconds of retries. */
function webSocketFault(): HttpFault {
  return new HttpFault(426, 'Responses are streamed over plain HTTP here: use POST.', {
    upgrade: 'HTTP/1.1',
    connection: 'Upgrade, close',
  });
}

function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && /(?:^|[\s,])websocket(?:$|[\s,])/i.test(headers.upgrade ?? '');
}

function noSuchEndpoint(): GatewayError {
  return new GatewayError('not_found', 'There is no such endpoint.');
}
