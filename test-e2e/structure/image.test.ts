import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const run = promisify(execFile);

describe('the Dockerfile', () => {
  const dockerfile = read('deploy/docker/Dockerfile');

  it('has the Node that everything is tested with', () => {
    const { optionalDependencies }: { optionalDependencies: Record<string, string> } = JSON.parse(read('package.json'));
    const versions = new Set(
      Object.entries(optionalDependencies).flatMap(([name, at]) => (/^node-/.test(name) ? [at] : [])),
    );
    expect([...versions]).toEqual([process.versions.node]);
    expect(dockerfile).toContain(`ARG NODE_IMAGE=docker.io/library/node:${process.versions.node}-slim`);
    expect(
      dockerfile.match(/^FROM .*/gm)?.filter((line) => !/^FROM (\$\{NODE_IMAGE\}|dependencies)/.test(line)),
    ).toEqual([]);
  });

  it('runs as a user that a platform can see is not root', () => {
    expect(dockerfile.match(/^USER .*/gm)).toEqual(['USER 1000:1000']);
  });

  it('uses no option that one of the builders does not know', () => {
    expect(dockerfile).not.toMatch(/--start-interval|--link\b|--parents|--chmod|<<EOF|^# *syntax=/m);
  });

  it('copies only files that its ignore file allows', () => {
    const sources = dockerfile
      .match(/^COPY (?!--from|\. ).*/gm)
      ?.flatMap((line) => line.split(' ').slice(1, -1))
      .map((path) => path.replace('./', ''));
    expect(sources).toContain('services');
    const allowed = read('deploy/docker/Dockerfile.dockerignore').split('\n');
    const isAllowed = (path: string) => allowed.some((line) => `!${path}/`.startsWith(`${line}/`));
    expect(sources?.filter((path) => !existsSync(join(root, path)) || !isAllowed(path))).toEqual([]);
  });
});

describe('the entrypoint of the image', () => {
  it('starts the service that the first argument names, with the others', async () => {
    expect(await entrypoint(['limiter', 'a b', 'c'])).toMatch(/programs\/limiter\/main\.mjs \[a b\] \[c\]$/);
    expect(await entrypoint([])).toMatch(/programs\/all-in-one\/main\.mjs$/);
  });

  it.each([
    ['the all-in-one of a container without settings', 'all-in-one', {}, '127.0.0.1'],
    ['the all-in-one with TLS', 'all-in-one', { TLS_CERT_FILE: '/tls.crt' }, ''],
    ['the all-in-one that may do without TLS', 'all-in-one', { ALLOW_PLAINTEXT: 'true' }, ''],
    ['the all-in-one that is given an address', 'all-in-one', { ADMIN_HOST: '10.0.0.1' }, '10.0.0.1'],
    ['a service', 'limiter', {}, ''],
  ])('leaves ADMIN_HOST of %s as it should be', async (_, service, env, adminHost) => {
    expect(await entrypoint([service], env)).toContain(`ADMIN_HOST=${adminHost} `);
  });

  it('names the services when it does not know one', async () => {
    await expect(entrypoint(['adapter'])).rejects.toThrow(/no service adapter.*all-in-one edge-router limiter$/m);
  });
});

describe('the HEALTHCHECK of the image', () => {
  it.each([
    ['passes while the service is ready', 200, 0, 'ok'],
    ['fails with the status while it is not', 503, 1, '/readyz answers 503'],
  ])('%s', async (_, status, code, printed) => {
    await using server = await serving(createServer(answering(status)), '127.0.0.1');
    expect(await healthcheck({ ADMIN_PORT: server.port })).toEqual({ code, printed: expect.stringContaining(printed) });
  });

  it('asks a service that listens everywhere at its loopback address', async () => {
    await using server = await serving(createServer(answering(200)), '0.0.0.0');
    expect(await healthcheck({ HOST: '0.0.0.0', ADMIN_PORT: server.port })).toMatchObject({ code: 0 });
    await using onIpv6 = await serving(createServer(answering(200)), '::1');
    expect(await healthcheck({ HOST: '0.0.0.0', ADMIN_HOST: '::', ADMIN_PORT: onIpv6.port })).toMatchObject({
      code: 0,
    });
  });

  it('asks over TLS where the service has a certificate, whatever names that is for', async () => {
    const { certPem: cert, keyPem: key } = await (await CertificateAuthority.create()).issue({ names: ['limiter'] });
    await using server = await serving(createTlsServer({ cert, key }, answering(200)), '127.0.0.1');
    expect(await healthcheck({ ADMIN_PORT: server.port, TLS_CERT_FILE: '/tls.crt' })).toMatchObject({ code: 0 });
  });

  it('fails if nothing listens', async () => {
    await using server = await serving(createServer(), '127.0.0.1');
    await server[Symbol.asyncDispose]();
    const { code, printed } = await healthcheck({ ADMIN_PORT: server.port });
    expect([code, printed]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
  });
});

/** The command that it would start: a program replaces Node and prints its arguments. */
async function entrypoint(parameters: readonly string[], env: Readonly<Record<string, string>> = {}) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'entrypoint-'));
  const program = `#!/bin/sh\nprintf 'ADMIN_HOST=%s %s' "\${ADMIN_HOST:-}" "$1"; shift\nfor one; do printf ' [%s]' "$one"; done\n`;
  writeFileSync(join(folder.path, 'node'), program, { mode: 0o755 });
  const script = join(folder.path, 'entrypoint.sh');
  copyFileSync(join(root, 'deploy/docker/entrypoint.sh'), script);
  for (const service of ['all-in-one', 'edge-router', 'limiter', 'shared']) {
    mkdirSync(join(folder.path, 'programs', service), { recursive: true });
    if (service !== 'shared') writeFileSync(join(folder.path, 'programs', service, 'main.mjs'), '');
  }
  const { stdout } = await run(script, parameters, {
    env: { PATH: `${folder.path}:/usr/bin:/bin`, ...env },
    timeout: roomMs(20_000),
  });
  return stdout;
}

function answering(status: number): RequestListener {
  return ({ url }, response) => response.writeHead(url === '/readyz' ? status : 404).end('ok');
}

async function serving(server: ReturnType<typeof createServer>, host: string) {
  await once(server.listen(0, host), 'listening');
  const { port } = server.address() as AddressInfo;
  return { port: String(port), [Symbol.asyncDispose]: () => new Promise<void>((done) => server.close(() => done())) };
}

async function healthcheck(env: Readonly<Record<string, string>>) {
  const child: ChildProcess = spawn(process.execPath, [join(root, 'deploy/docker/healthcheck.ts')], {
    env: { PATH: process.env.PATH, ...env },
    timeout: roomMs(20_000),
  });
  const printed = [child.stdout, child.stderr].map((stream) => (stream === null ? '' : text(stream)));
  const [[code], ...texts] = await Promise.all([once(child, 'close'), ...printed]);
  return { code, printed: texts.join('') };
}
