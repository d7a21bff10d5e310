import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { roomMs } from '@gateway/testkit/room';
import { type StaticSite, serveFolder } from './static-site.ts';

const root = join(import.meta.dirname, '../..');

/** A path below which the site is served, as on hosts with several sites. */
export const base = '/model-gateway/';

/** The policy of docs/.vitepress/README.md: only the site's own script files. */
const policy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; object-src 'none'; frame-ancestors 'none'";

/** The docs as `npm run docs:build` makes them. */
export async function startDocsSite(): Promise<StaticSite> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'docs-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await build(folder);
  const fileOf = (path: string) => path.slice(base.length).replace(/(^|\/)$/, '$1index.html');
  const { url } = stack.use(await serveFolder(folder, { policy, fileOf }));
  const owned = stack.move();
  return { url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** In a process of its own, as the build needs a whole one. A broken link fails the build. */
async function build(folder: string): Promise<void> {
  const vitepress = dirname(createRequire(join(root, 'package.json')).resolve('vitepress/package.json'));
  await promisify(execFile)(
    process.execPath,
    [join(vitepress, 'bin/vitepress.js'), 'build', 'docs', '--outDir', folder],
    {
      cwd: root,
      env: { ...process.env, NODE_ENV: 'production', DOCS_BASE: base },
      timeout: roomMs(180_000),
    },
  );
}
