import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { failSpan, inSpan, type Span, SpanKind, startSpan, withSpan } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import express from 'express';
import { admit, heldBy, holdsLeases } from '../admission/admit.ts';
import { authenticate, type TokenCache } from '../authentication/authenticate.ts';
import { BodyMemory } from '../body/body-memory.ts';
import { maxBytesOf } from '../body/read-body.ts';
import { Call, type CallRoute } from '../call.ts';
import { toClientError } from '../errors/client-error.ts';
import { HttpFault, statusOf } from '../errors/render-error.ts';
import { methodLabel, otherRoute, type RequestEvents } from '../events.ts';
import { Patience } from '../patience.ts';
import type { EdgeRouterPeers } from '../peers.ts';
import type { EndpointPeers, Route } from '../request-context.ts';
import { routes } from '../routes.ts';
import { signInRoutes } from '../sign-in/sign-in-routes.ts';
import { failureOf, type RequestLog } from '../usage/request-log.ts';
import { type EdgeResponse, nameForMessages, sendError, untilSentOrDisconnected } from './respond.ts';
import type { EdgeListener } from './server.ts';

export interface AppPeers extends EndpointPeers {
  readonly tokens: TokenCache;
  readonly proxies: TrustedProxies;
  readonly signIn: EdgeRouterPeers['signIn'];
  readonly events: RequestEvents;
  readonly requestLog: RequestLog;
}

/** The public API. Path and method decide 404, 405 and 426 before anything else. */
export function createApp(peers: AppPeers): EdgeListener {
  const bodies = new BodyMemory({
    limitBytes: peers.config.bodyMemoryMaxBytes,
    largestBodyBytes: Math.max(...routes.map(({ body }) => maxBytesOf(body))),
    waitMs: bodyWaitMs,
  });
  peers.events.showBodyMemory(bodies);
  const router = createRouter();
  for (const route of routes) {
    router.all(route.path, (_request, response) =>
      serve(route, response, peers, (call) => answer(call, route, peers, bodies)),
    );
  }
  for (const route of signInRoutes({ ...peers, onFault: (fault) => peers.events.faulted('sign_in', fault) })) {
    const shown = { ...nowhere, path: route.path, method: route.method === 'GET' ? 'get' : 'post' } as const;
    router.all(route.path, (_request, response) =>
      serve(shown, response, peers, async ({ request }) => {
        checkMethod(shown, request);
        await route.answer(request, response);
      }),
    );
  }
  return (request, response) => {
    router(request, response, (thrown = new GatewayError('not_found', 'The endpoint does not exist.')) => {
      void serve(nowhere, response, peers, () => Promise.reject(thrown));
    });
  };
}

/**
 * Only express' router, because a whole app would change the prototypes of each request and
 * response. It needs only what Node provides.
 */
function createRouter(): Router {
  return express.Router({ caseSensitive: true, strict: true }) as unknown as Router;
}

interface Router {
  (...exchange: [...Parameters<EdgeListener>, fallback: (thrown?: unknown) => void]): void;
  all(path: string, handle: EdgeListener): void;
}

/** The route of requests that match no endpoint. */
const nowhere: CallRoute = { path: otherRoute, errorDialect: 'chat', cost: undefined, operation: undefined };

/** How long a request may wait in total for room for its body. */
const bodyWaitMs = 5_000;

/**
 * Measures, traces and logs a request, whatever `act` does with it. Errors that `act` throws are
 * rendered here, when the request holds nothing any more.
 */
async function serve(
  route: CallRoute,
  response: EdgeResponse,
  peers: AppPeers,
  act: (call: Call) => Promise<void>,
): Promise<void> {
  const { events, config } = peers;
  const { path, errorDialect, operation } = route;
  if (errorDialect === 'messages') nameForMessages(response);
  const call = new Call(route, response, peers);
  const { id, request, signal } = call;
  const method = methodLabel(request.method);
  events.requestStarted(method);
  const span = startServerSpan(request, path, id, !config.trustsClientSampling);
  await withSpan(span, async () => {
    await act(call).catch((thrown) => endWithError(call, toClientError(thrown), events));
    call.release();
    await untilSentOrDisconnected(response, signal);
    const clientLeft = signal.aborted;
    await call.end({ status: clientLeft ? 499 : response.statusCode, clientLeft });
    events.requestEnded(method, operation, call);
  });
  endServerSpan(span, call);
}

/** What the request holds ends before its client learns that it failed. */
async function endWithError(call: Call, error: GatewayError, events: RequestEvents): Promise<void> {
  const { id, route, response, signal } = call;
  const { path, errorDialect } = route;
  const clientLeft = signal.aborted;
  const errorCode = clientLeft ? undefined : error.code;
  if (errorCode !== undefined) events.refused(error);
  if (errorCode === 'internal_error') events.requestFaulted(id, path, error);
  const status = response.headersSent ? response.statusCode : statusOf(error);
  await call.end({ status: clientLeft ? 499 : status, errorCode, clientLeft });
  sendError(response, error, errorDialect, epochMs());
}

/** Every request to an endpoint takes the same steps: authenticate, admit, answer. */
async function answer(call: Call, route: Route, peers: AppPeers, bodies: BodyMemory): Promise<void> {
  const { id, request, response, signal, patience } = call;
  checkMethod(route, request);
  const token = await patience.within(() => authenticate(request, route.authHeader, peers));
  call.onAuthenticated(token);
  // Before the body is read: a bad request takes a slot too.
  const { refusal, ...admission } = await inSpan('admit', {}, async (span) => {
    const mayWait = call.isRecorded && peers.config.leaseQueueMs > 0;
    // A request that waits for a lease asks again and again.
    const ask = () =>
      (mayWait ? new Patience(peers.patienceMs) : patience).within(() => admit(id, token, route.cost, peers));
    const decision = await (mayWait ? peers.leaseQueue.admit({ token, signal, ask }) : ask());
    if (decision.refusal !== undefined) span.setAttribute('gateway.limit', decision.refusal.limit ?? 'none');
    return decision;
  });
  if (route.operation !== undefined) response.setHeaders(new Map(Object.entries(admission.headers)));
  if (refusal !== undefined) {
    call.onRefused(refusal);
    throw refusal;
  }
  const allocation = bodies.open(token.tokenId, signal);
  call.onAdmitted(admission, { ...route.body, pace: peers.config.uploadPace, allocation });
  if (call.isRecorded && holdsLeases(token)) call.holdLeases(heldBy(id, token, admission));
  await route.endpoint(call, peers);
}

/**
 * Each path has one method; a path with GET also accepts HEAD. Throws an error for any other
 * method.
 */
function checkMethod({ method, errorDialect }: CallRoute & Pick<Route, 'method'>, request: IncomingMessage): void {
  const taken = method === 'get' ? ['GET', 'HEAD'] : ['POST'];
  if (taken.includes(request.method ?? '')) return;
  if (errorDialect === 'responses' && asksForWebSocket(request)) {
    // Codex tries a WebSocket first and falls back to HTTP at once on this status; other statuses
    // cost it seconds of retries.
    const headers = { upgrade: 'HTTP/1.1', connection: 'Upgrade, close' };
    throw new HttpFault(426, 'WebSockets are not supported. Use POST: responses are streamed over HTTP.', headers);
  }
  throw new HttpFault(405, `This endpoint supports ${taken.join(' and ')} only.`, { allow: taken.join(', ') });
}

function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && /(?:^|[\s,])websocket(?:$|[\s,])/i.test(headers.upgrade ?? '');
}

/**
 * Starts the span of a request. It continues the trace in a valid `traceparent` of the client: its
 * ids and, if clients are trusted with it, the sampling decision. It contains nothing that clients
 * choose, except method and path of an endpoint.
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span
 */
function startServerSpan(
  { method, headers }: IncomingMessage,
  path: string,
  requestId: string,
  decidesSampling: boolean,
): Span {
  const label = methodLabel(method);
  const name = path === otherRoute ? label : `${label} ${path}`;
  const traceparent = typeof headers.traceparent === 'string' ? headers.traceparent : undefined;
  const span = startSpan(name, { kind: SpanKind.SERVER, traceparent, decidesSampling });
  if (!span.isRecording()) return span;
  span.setAttributes({ 'http.request.method': label, 'url.scheme': 'http', 'gateway.request_id': requestId });
  return path === otherRoute ? span : span.setAttributes({ 'http.route': path, 'url.path': path });
}

/**
 * Ends the span with the request's ending, and with whether a tail-sampling collector should keep
 * the trace. It has no `gen_ai.operation.name`, because it would then count as a call of a model,
 * like its span `chat`.
 */
function endServerSpan(span: Span, { record, lease }: Call): void {
  const { status, ending, slow } = record;
  const hasFailed = status >= 500 || ending === RequestEnding.FAILED;
  span.setAttribute('http.response.status_code', status);
  if (lease?.modelUnlisted === false) span.setAttribute('gen_ai.request.model', lease.model);
  if (hasFailed) failSpan(span, failureOf(record));
  else if (ending !== RequestEnding.COMPLETED) span.setAttribute('error.type', failureOf(record));
  const keep = hasFailed ? 'failed' : slow ? 'slow' : undefined;
  if (keep !== undefined) span.setAttributes({ 'gateway.sampling.keep': true, 'gateway.sampling.reason': keep });
  span.end();
}
