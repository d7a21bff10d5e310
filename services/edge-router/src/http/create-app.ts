import type { IncomingMessage } from 'node:http';
import { GatewayError, toGatewayError } from '@gateway/errors';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { BodyBudget } from '../body/body-budget.ts';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import type { Route } from '../routes.ts';
import { handleRequest, type RequestPeers } from './handle-request.ts';
import { HttpFault } from './http-fault.ts';
import { sendError } from './send-error.ts';

/** How long a request waits for room for its body. */
const bodyWaitMs = 5_000;

/** The public API as an Express app. 404 and 405 are decided here, before anybody is asked who calls. */
export function createApp(routes: readonly Route[], peers: Omit<RequestPeers, 'bodies'>): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('case sensitive routing').enable('strict routing');
  const bodies = new BodyBudget({ limitBytes: peers.endpoints.config.bodyMemoryMaxBytes, waitMs: bodyWaitMs });
  const refuse = (request: Request, response: Response, error: GatewayError, dialect: ErrorDialect = 'chat') =>
    sendError(request, response, { error, dialect, nowMs: peers.endpoints.clock.nowMs() });

  for (const route of routes) {
    const handler = (request: Request, response: Response) =>
      handleRequest(route, request, response, { ...peers, bodies });
    if (route.method === 'GET') app.get(route.path, handler);
    else app.post(route.path, handler);
  }
  for (const [path, { errorDialect, allow }] of methodsByPath(routes)) {
    app.all(path, (request, response) => {
      if (errorDialect === 'responses' && asksForWebSocket(request)) {
        return refuse(request, response, webSocketFault());
      }
      response.setHeader('allow', allow.join(', '));
      refuse(
        request,
        response,
        new GatewayError('method_not_allowed', `Use ${allow.join(' or ')} here.`),
        errorDialect,
      );
    });
  }
  app.use((request, response) =>
    refuse(request, response, new GatewayError('not_found', 'There is no such endpoint.')),
  );
  // Express knows an error handler by its four parameters. Its own would answer with a page of HTML.
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) =>
    refuse(request, response, toGatewayError(thrown)),
  );
  return app;
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

function methodsByPath(
  routes: readonly Route[],
): ReadonlyMap<string, { errorDialect: ErrorDialect; allow: readonly string[] }> {
  return new Map(
    routes.map(({ path, errorDialect }) => {
      const methods = routes.filter((route) => route.path === path).map(({ method }) => method);
      return [
        path,
        { errorDialect, allow: methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])) },
      ];
    }),
  );
}
