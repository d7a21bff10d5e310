import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { buildConsole } from './build-console.ts';
import { serveFolder } from './static-site.ts';

export interface MadeUpConsole extends AsyncDisposable {
  readonly url: string;
}

/** The console's pages for operators. */
export const madeUpPaths = {
  overview: '/',
  requests: '/requests',
  request: '/requests/019a016d-7c3e-7000-8000-000001000365',
  pools: '/pools/responses',
  explain: '/pools?model=gateway/sterk',
  usage: '/usage',
  playground: '/playground',
  tokens: '/tokens',
  groups: '/groups',
  group: '/groups/platform',
  'new-token': '/tokens/new',
  token: '/tokens/7d0c2f44-5b1e-4a53-9c3e-0f5c7a2b9e11',
  system: '/system',
  configuration: '/configuration',
  operators: '/operators',
  audit: '/audit',
  search: '/search?q=team',
};

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
