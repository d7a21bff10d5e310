import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { buildConsole } from './build-console.ts';
import { serveFolder } from './static-site.ts';

export interface MadeUpConsole extends AsyncDisposable {
  readonly url: string;
}

/** The policy that the admin service sends. */
const policy = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'";

/** The console on made-up data, under the policy of the real one. */
export async function startMadeUpConsole(): Promise<MadeUpConsole> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'console-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await buildConsole('dev/vite.config.ts', folder);
  const fileOf = (path: string) => (extname(path) === '' ? '/index.html' : path);
  const { url } = stack.use(await serveFolder(folder, { policy, fileOf }));
  const owned = stack.move();
  return { url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
