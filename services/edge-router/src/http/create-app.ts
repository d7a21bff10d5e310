import { GatewayError } from '@gateway/errors';
import express, { type Express } from 'express';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import type { Route } from '../routes.ts';
import { handleRequest, type RequestPeers } from './handle-request.ts';
import { sendError } from './send-error.ts';

/** The public API as an Express app. 404 and 405 are decided here, before anybody is asked who calls. */
export function createApp(routes: readonly Route[], peers: RequestPeers): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  for (const route of routes) {
    const handler: express.RequestHandler = (request, response) => handleRequest(route, request, response, peers);
    if (route.method === 'GET') app.get(route.path, handler);
    else app.post(route.path, handler);
  }
  for (const [path, { errorDialect, allow }] of methodsByPath(routes)) {
    app.all(path, (request, response) => {
      response.setHeader('allow', allow.join(', '));
      const error = new GatewayError('method_not_allowed', `Use ${allow.join(' or ')} here.`);
      sendError(request, response, { error, dialect: errorDialect, nowMs: peers.endpoints.clock.nowMs() });
    });
  }
  app.use((request, response) => {
    const error = new GatewayError('not_found', 'There is no such endpoint.');
    sendError(request, response, { error, dialect: 'chat', nowMs: peers.endpoints.clock.nowMs() });
  });
  return app;
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
