import type { ConnectRouter, HandlerContext } from '@connectrpc/connect';
import { createContextValues, type Interceptor } from '@connectrpc/connect';
import { expressConnectMiddleware } from '@connectrpc/connect-express';
import { TrustedProxies } from '@gateway/config';
import type { Logger } from '@gateway/telemetry';
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { connectionKey } from '../access/caller.ts';
import type { Refusals } from '../access/refusals.ts';
import { connectionOf, publicUrlSetting, trustedProxiesSetting } from './connection.ts';
import { consoleFiles } from './console-files.ts';
import { type OwnNames, pageRefusal } from './page-check.ts';

export interface AppParts {
  readonly names: OwnNames;
  /** In Express' notation: "loopback", "10.0.0.0/8". */
  readonly trustedProxies: readonly string[];
  readonly refusals: Refusals;
  readonly routes: (router: ConnectRouter) => void;
  /** The services with calls that need no session: they accept only short messages. */
  readonly openRoutes: (router: ConnectRouter) => void;
  /** Checks calls before their message is read. */
  readonly check: (context: HandlerContext) => Promise<void>;
  readonly interceptors: Interceptor[];
  /** Routes besides RPCs and the console. */
  readonly others: readonly RequestHandler[];
  readonly consoleFolder: string;
  /** Aborted when streams have to end. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

/** All routes of the admin port besides health and metrics. */
export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const proxies = new TrustedProxies(parts.trustedProxies);
  app.set('trust proxy', (address: string) => proxies.trusts(address));
  app.set(trustedProxiesSetting, proxies);
  app.set(publicUrlSetting, parts.names.publicUrl);
  app.use(securityHeaders);
  app.use(knownMethods);
  app.use(pagesOfOthers(parts));
  const connect = (routes: AppParts['routes'], readMaxBytes: number) =>
    expressConnectMiddleware({
      routes,
      contextValues: (request) => createContextValues().set(connectionKey, connectionOf(request)),
      requestGate: parts.check,
      interceptors: parts.interceptors,
      shutdownSignal: parts.stopping,
      readMaxBytes,
      // A secret that is compressed together with a text that a page chose leaks through the
      // length.
      acceptCompression: [],
      grpc: false,
      grpcWeb: false,
    });
  app.use(connect(parts.openRoutes, maxOpenMessageBytes));
  app.use(connect(parts.routes, maxMessageBytes));
  for (const other of parts.others) app.use(other);
  app.use(consoleFiles(parts.consoleFolder));
  app.use((_request, response) => response.status(404).type('text').send('Not found.\n'));
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) => {
    const isTheirs = thrown instanceof Error && 'status' in thrown && Number(thrown.status) < 500;
    if (!isTheirs) parts.logger.error({ path: request.path, err: thrown }, 'internal error on the admin port');
    if (response.headersSent) return void response.destroy();
    response
      .status(isTheirs ? 400 : 500)
      .type('text')
      .send(isTheirs ? 'Bad request.\n' : 'Internal error. See the log for details.\n');
  });
  return app;
}

/** The longest message is a gateway.yaml. */
const maxMessageBytes = 1024 * 1024;

/**
 * For calls without authentication, of which there may be many at a time. The longest such message
 * has a token.
 */
const maxOpenMessageBytes = 8 * 1024;

/** Pages run no code of other sites, and other sites can't frame them. */
const securityHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'content-security-policy':
      "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    // Unless a file says that it may be cached.
    'cache-control': 'no-store',
  });
  next();
};

/** Calls are POST; pages, files and exports are GET. */
const knownMethods: RequestHandler = ({ method }, response, next) => {
  if (['GET', 'HEAD', 'POST'].includes(method)) return next();
  response.status(405).set('allow', 'GET, HEAD, POST').type('text').send('Method not allowed.\n');
};

function pagesOfOthers({ names, refusals }: AppParts): RequestHandler {
  return async (request, response, next) => {
    const { headers } = request;
    const refusal = pageRefusal(headers, names, isVisit(request));
    if (refusal === undefined) return next();
    const { reason, text } = refusal;
    const given = reason === 'host' ? `Host ${headers.host}` : `Origin ${headers.origin ?? headers['sec-fetch-site']}`;
    const { address } = connectionOf(request);
    await refusals.note({ reason, actor: '', address, subject: `${given}: ${request.method} ${request.path}` });
    response.status(403).type('text').send(`${text}\n`);
  };
}

/** Whether a person opens a page. Exports are opened in the same way, but are not pages. */
function isVisit({ method, path, headers }: Request): boolean {
  const isPage = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return method === 'GET' && isPage && !path.startsWith('/export/');
}
