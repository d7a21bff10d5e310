import type { IncomingMessage } from 'node:http';
import { GatewayError, type GatewayErrorCode, toGatewayError } from '@gateway/errors';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { type Admission, admit } from '../admission/admit.ts';
import type { Principal } from '../authentication/authenticate.ts';
import { authenticate } from '../authentication/authenticate.ts';
import type { TokenCache } from '../authentication/token-cache.ts';
import { type BodyAllocation, BodyMemory } from '../body/body-memory.ts';
import type { EndpointPeers, RequestContext } from '../endpoints/endpoint.ts';
import { type ErrorDialect, HttpFault } from '../errors/render-error.ts';
import type { RequestEvents } from '../events.ts';
import type { Route } from '../routes.ts';
import { type RequestLog, RequestLogEntry } from '../usage/request-log.ts';
import {
  ClientLeft,
  clientRequestIdOf,
  clientSignal,
  nameForMessages,
  requestIdOf,
  sendError,
  sentOrLeft,
} from './respond.ts';

export interface AppPeers extends EndpointPeers {
  readonly tokens: TokenCache;
  readonly events: RequestEvents;
  readonly requestLog: RequestLog;
}

/** What the steps of a request know: each adds what the next ones need. */
interface Locals extends Record<string, unknown> {
  dialect: ErrorDialect;
  /** Absent for what is refused by path and method. */
  context: RequestContext;
  principal: Principal;
  admission: Admission;
  allocation: BodyAllocation;
}

type Step = RequestHandler<object, unknown, unknown, object, Locals>;

/**
 * The public API. Each request takes the same steps: begin, authenticate, admit, answer. 404 and 405 are decided by path and
 * method, before all of them. A failure of any step is rendered in one place.
 */
export function createApp(routes: readonly Route[], peers: AppPeers): Express {
  const bodies = new BodyMemory({
    limitBytes: peers.config.bodyMemoryMaxBytes,
    largestBodyBytes: Math.max(...routes.map(({ body }) => body.limitBytes)),
    waitMs: bodyWaitMs,
  });
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const route of routes) {
    const steps = [begin(route, peers), identify(peers), admitted(peers), answer(peers, bodies)];
    const path = router.route(route.path);
    if (route.method === 'GET') path.get(...steps);
    else path.post(...steps);
    path.all(refuseMethod(route));
  }
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  return app.use(router, noSuchEndpoint, renderFailure(peers));
}

/** How long a request waits for room for its body, in all. */
const bodyWaitMs = 5_000;

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
    response.locals.dialect = route.errorDialect;
    response.locals.context = { requestId, route, request, response, signal, trace };
    next();
  };
}

function identify({ tokens }: AppPeers): Step {
  return async (request, { locals }, next) => {
    const { route, trace } = locals.context;
    locals.principal = await authenticate(request, route.authHeader, tokens);
    trace.onAuthenticated(locals.principal.tokenId);
    next();
  };
}

/** Before the body is read: a bad request takes a slot too. */
function admitted(peers: AppPeers): Step {
  return async (_request, response, next) => {
    const { context, principal } = response.locals;
    const { requestId, route, trace } = context;
    const { refusal, ...admission } = await admit({ requestId, principal, cost: route.cost }, peers);
    if (route.sendsRateLimitHeaders) response.setHeaders(new Map(Object.entries(admission.headers)));
    if (refusal !== undefined) throw refusal;
    trace.onAdmitted();
    response.locals.admission = admission;
    next();
  };
}

function answer(peers: AppPeers, bodies: BodyMemory): Step {
  return async (_request, { locals }) => {
    const { context, principal, admission } = locals;
    const { route, signal } = context;
    locals.allocation = bodies.open(principal.tokenId, signal);
    const pace = peers.config.uploadPace;
    const bodyRules = { ...route.body, pace, allocation: locals.allocation };
    await route.endpoint({ ...context, principal, admission, bodyRules }, peers);
    await finish(locals, peers);
  };
}

/** Express knows an error handler by its four parameters. */
function renderFailure(peers: AppPeers): ErrorRequestHandler<object, unknown, unknown, object, Locals> {
  return async (thrown, request, response, _next) => {
    const error = toGatewayError(thrown);
    const { context, dialect = 'chat' } = response.locals;
    const clientLeft = context?.signal.aborted === true;
    if (context !== undefined && error.code === 'internal_error' && !clientLeft) {
      peers.events.requestFaulted(context.requestId, context.route.path, error);
    }
    sendError(request, response, { error, dialect, nowMs: peers.clock.nowMs() });
    if (context !== undefined) await finish(response.locals, peers, clientLeft ? undefined : error.code);
  };
}

/** Records the end of a request, when its answer is out. */
async function finish(
  { context, allocation }: Partial<Locals> & Pick<Locals, 'context'>,
  { events, requestLog }: AppPeers,
  errorCode?: GatewayErrorCode,
): Promise<void> {
  const { route, response, signal, trace } = context;
  await sentOrLeft(response, signal);
  allocation?.[Symbol.dispose]();
  if (signal.reason instanceof ClientLeft && signal.reason.hasStalled) trace.onClientStalled();
  const status = signal.aborted ? 499 : response.statusCode;
  trace.onEnded({ status, errorCode, clientLeft: signal.aborted, waitedForRoomMs: allocation?.waitedMs ?? 0 });
  if (route.isLogged) requestLog.add(trace);
  events.requestEnded(trace.message);
}

/** Each path has one method; what may be got may be asked for its head. */
function refuseMethod({ method, errorDialect }: Route): Step {
  const allow = method === 'GET' ? ['GET', 'HEAD'] : [method];
  return (request, response) => {
    if (errorDialect === 'responses' && asksForWebSocket(request)) throw webSocketFault();
    response.locals.dialect = errorDialect;
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

const noSuchEndpoint: Step = () => {
  throw new GatewayError('not_found', 'There is no such endpoint.');
};
