import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

// Loading code is most of the time of a short command. It is counted, because a clock would measure
// the machine.

const repository = join(import.meta.dirname, '../../..');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatewayctl-loaded-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The files that a command loads: each with the package that it belongs to. */
async function loadedBy(...args: readonly string[]) {
  const list = join(folder, 'loaded.json');
  const recorder = `import { registerHooks } from 'node:module';
    import { writeFileSync } from 'node:fs';
    const urls = [];
    registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
    process.on('exit', () => writeFileSync(${JSON.stringify(list)}, JSON.stringify(urls)));`;
  // The program without the bundle of libraries, in which packages have no folders.
  const main = join(repository, 'services/gatewayctl/src/main.ts');
  const env = { HOME: folder, GATEWAY_DATA: folder, GATEWAY_ADMIN_URL: 'http://127.0.0.1:1' };
  const imported = `data:text/javascript,${encodeURIComponent(recorder)}`;
  await promisify(execFile)(process.execPath, ['--import', imported, main, ...args], { env }).catch(() => undefined);
  const files = (JSON.parse(await readFile(list, 'utf8')) as string[]).filter((url) => url.startsWith('file:'));
  const packages = files.map((url) => {
    const [, ours, theirs] =
      /\/((?:libs|services)\/[^/]+|proto)\/(?!.*\/node_modules\/)|.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ??
      [];
    return theirs ?? ours ?? url;
  });
  return { files, packages: [...new Set(packages)].toSorted() };
}

describe('the code that a command loads', () => {
  it.each([
    ['help', ['--help']],
    ['the version', ['--version']],
    ['completion of commands', ['complete', '--', 'to']],
  ])('is that of the command line itself for %s', async (_what, args) => {
    const { packages, files } = await loadedBy(...args);
    expect(packages).toEqual(expect.arrayContaining(['commander', 'services/gatewayctl']));
    expect(
      packages.filter(
        (name) => !['commander', 'services/gatewayctl', 'libs/telemetry', 'libs/presentation'].includes(name),
      ),
    ).toEqual([]);
    expect(files.length).toBeLessThan(25);
  });

  it('is that of one group, and of the calls to the admin service', async () => {
    const { packages, files } = await loadedBy('token', 'list', '-o', 'json');
    expect(packages).toEqual([
      '@bufbuild/protobuf',
      '@connectrpc/connect',
      '@connectrpc/connect-node',
      'commander',
      'libs/config',
      'libs/lifecycle',
      'libs/presentation',
      'libs/telemetry',
      'libs/time',
      'proto',
      'services/gatewayctl',
    ]);
    const groups = files.flatMap((url) => /gatewayctl\/src\/commands\/(\w+)\.ts$/.exec(url)?.[1] ?? []);
    expect(groups.toSorted()).toEqual(['context', 'flags', 'terms', 'token']);
  });
});
