import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type Response, Router } from 'express';
import { sendPage } from './plain-page.ts';

/** The output folder of `npm run build:console`. */
export const builtConsole = fileURLToPath(new URL('../../console/dist', import.meta.url));

/** The console: files that never change under their name, and one page for all of its paths. */
export function consoleFiles(folder: string): Router {
  const router = Router();
  router.use(
    express.static(folder, {
      index: false,
      redirect: false,
      setHeaders: (response: Response, path) =>
        response.setHeader('cache-control', path.includes(`${sep}assets${sep}`) ? forEver : 'no-cache'),
    }),
  );
  router.get(consolePath, (_request, response, next) => {
    response.sendFile(
      'index.html',
      { root: folder, cacheControl: false, headers: { 'cache-control': 'no-cache' } },
      (problem) => {
        if (problem === undefined) return;
        if (response.headersSent || !('status' in problem) || problem.status !== 404) return next(problem);
        sendPage(response, 503, 'The console is not built', notBuilt);
      },
    );
  });
  return router;
}

/** Names of assets contain a digest of their content. */
const forEver = 'public, max-age=31536000, immutable';

/** Begins with a page's name; the rest may contain the name of a pool or an account. */
const consolePath = /^\/(?!(?:assets|export|oidc)(?:\/|$))([a-z-]+(\/.*)?)?$/;

const notBuilt =
  'Run npm run build:console in the folder of the gateway, then reload this page. The command line, gatewayctl, offers the same functions.';
