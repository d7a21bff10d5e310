import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { buildConsole } from './build-console.ts';

export interface MadeUpConsole extends AsyncDisposable {
  readonly url: string;
}

/** The policy that the admin service sends. */
const policy = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'";

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** The console on made-up data, under the policy of the real one. */
export async function startMadeUpConsole(): Promise<MadeUpConsole> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'console-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await buildConsole('dev/vite.config.ts', folder);
  const server = createServer(async ({ url = '/' }, response) => {
    const path = new URL(url, 'http://console').pathname;
    const file = extname(path) === '' ? '/index.html' : path;
    const body = await readFile(join(folder, file)).catch(() => undefined);
    const type = types[extname(file)] ?? 'text/html; charset=utf-8';
    response
      .writeHead(body === undefined ? 404 : 200, { 'content-type': type, 'content-security-policy': policy })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
  stack.defer(() => server.closeAllConnections());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const owned = stack.move();
  return { url: `http://127.0.0.1:${address.port}`, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
