import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';

export interface StaticSite extends AsyncDisposable {
  readonly url: string;
}

export interface StaticSiteOptions {
  /** The Content-Security-Policy of every answer. */
  readonly policy: string;
  /** The file of a path. */
  readonly fileOf: (path: string) => string;
}

/** Serves the files of a folder on loopback. */
export async function serveFolder(folder: string, { policy, fileOf }: StaticSiteOptions): Promise<StaticSite> {
  const server = createServer(async ({ url = '/' }, response) => {
    const file = fileOf(new URL(url, 'http://site').pathname);
    const body = await readFile(join(folder, file)).catch(() => undefined);
    const type = types[extname(file)] ?? 'text/html; charset=utf-8';
    response
      .writeHead(body === undefined ? 404 : 200, { 'content-type': type, 'content-security-policy': policy })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.yaml': 'text/yaml; charset=utf-8',
};
