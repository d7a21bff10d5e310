import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { GatewayError, toGatewayError } from '@gateway/errors';
import express, { type NextFunction, type Request, type Response } from 'express';
import { BodyMemory } from '../body/body-memory.ts';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import type { Route } from '../routes.ts';
import { handleRequest, type RequestPeers } from './handle-request.ts';
import { HttpFault } from './http-fault.ts';
import { sendError } from './send-error.ts';

/** How long a request waits for room for its body, in all. */
const bodyWaitMs = 5_000;

/**
 * The public API: an Express app, and in front of it the few routes that most requests are for. 404 and 405 are decided here,
 * before anybody is asked who calls.
 */
export function createApp(routes: readonly Route[], peers: Omit<RequestPeers, 'bodies'>): RequestListener {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('case sensitive routing').enable('strict routing');
  const bodies = new BodyMemory({
    limitBytes: peers.endpoints.config.bodyMemoryMaxBytes,
    largestBodyBytes: Math.max(...routes.map(({ body }) => body.limitBytes)),
    waitMs: bodyWaitMs,
  });
  const refuse = (
    request: IncomingMessage,
    response: ServerResponse,
    error: GatewayError,
    dialect: ErrorDialect = 'chat',
  ) => sendError(request, response, { error, dialect, nowMs: peers.endpoints.clock.nowMs() });

  const requestPeers: RequestPeers = { ...peers, bodies };
  const endpoints = endpointsByPath(routes);
  // Paths are few and have no parameters: one look at a table instead of a pattern for each.
  app.use((request, response) => {
    const endpoint = endpoints.get(request.path);
    if (endpoint === undefined) {
      return refuse(request, response, new GatewayError('not_found', 'There is no such endpoint.'));
    }
    const route = endpoint.routes.get(request.method);
    if (route !== undefined) return handleRequest(route, request, response, requestPeers);
    if (endpoint.errorDialect === 'responses' && asksForWebSocket(request)) {
      return refuse(request, response, webSocketFault());
    }
    const { allow, errorDialect } = endpoint;
    response.setHeader('allow', allow.join(', '));
    refuse(request, response, new GatewayError('method_not_allowed', `Use ${allow.join(' or ')} here.`), errorDialect);
  });
  // Express knows an error handler by its four parameters. Its own would answer with a page of HTML.
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) =>
    refuse(request, response, toGatewayError(thrown)),
  );
  return (request, response) => {
    // An exact path needs nothing of Express, which takes as long to pass a request on as the broker to choose an account.
    const route = endpoints.get(request.url ?? '')?.routes.get(request.method ?? '');
    if (route === undefined) return app(request, response);
    handleRequest(route, request, response, requestPeers).catch((thrown: unknown) =>
      refuse(request, response, toGatewayError(thrown)),
    );
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

interface EndpointRoutes {
  readonly errorDialect: ErrorDialect;
  readonly routes: ReadonlyMap<string, Route>;
  /** The methods that are taken. */
  readonly allow: readonly string[];
}

function endpointsByPath(routes: readonly Route[]): ReadonlyMap<string, EndpointRoutes> {
  return new Map(
    routes.map(({ path, errorDialect }) => {
      const ofPath = routes.filter((route) => route.path === path);
      const byMethod = new Map(ofPath.flatMap((route) => methodsOf(route).map((method) => [method, route] as const)));
      return [path, { errorDialect, routes: byMethod, allow: [...byMethod.keys()] }];
    }),
  );
}

/** Whoever may get something may ask for its head. */
function methodsOf({ method }: Route): readonly string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}
