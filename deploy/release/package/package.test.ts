import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { loadGatewayFile } from '@gateway/config';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BuiltPackage, buildPackage } from './build-package.ts';

const run = promisify(execFile);

let folder: string;
let built: BuiltPackage;
let program: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-package-'));
  built = await buildPackage(join(folder, 'one'));
  await run('tar', ['--extract', '--file', built.file, '--directory', folder]);
  program = join(folder, 'package/bin/model-gateway.js');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** In an empty folder, without the variables of this one. */
const started = (...args: readonly string[]) =>
  run(process.execPath, [program, ...args], { cwd: folder, env: { HOME: folder, PATH: process.env.PATH } });

describe('the package', () => {
  it('is the same bytes when it is built again', async () => {
    expect((await buildPackage(join(folder, 'two'))).sha256).toBe(built.sha256);
  });

  it('is small, and has no file of a clone', async () => {
    expect(built.bytes).toBeLessThan(60e6);
    const { stdout } = await run('tar', ['--list', '--file', built.file]);
    expect(stdout).not.toMatch(/node_modules|\.test\.|\.tsx?$/m);
    expect(stdout).toContain('package/programs/gatewayctl/main.mjs');
  });

  it('has the licences of the packages in its programs', async () => {
    const licences = await readFile(join(folder, 'package/licences.txt'), 'utf8');
    for (const name of ['express', 'piscina', 'react', 'undici']) {
      expect(licences).toMatch(new RegExp(`^${name}@[\\d.]+ +MIT$`, 'm'));
    }
    expect(licences).toContain('Permission is hereby granted, free of charge');
  });

  it('has the command line', async () => {
    const { version }: { readonly version: string } = JSON.parse(
      await readFile(join(folder, 'package/package.json'), 'utf8'),
    );
    expect((await started('--version')).stdout).toContain(version);
  });

  it('writes a gateway.yaml that the gateway accepts, and replaces none', async () => {
    expect((await started('init')).stdout).toContain('Wrote gateway.yaml');
    const file = await readFile(join(folder, 'gateway.yaml'), 'utf8');
    const uncommented = file.replaceAll(
      /^( *)# (?=- \{|prices:| {2}currency| {2}models| {4}- \{|alerts:| {2}- \{)/gm,
      '$1',
    );
    const keys = {
      OPENAI_API_KEY: 'a',
      ANTHROPIC_API_KEY: 'b',
      SECOND_KEY: 'c',
      ALERT_WEBHOOK_URL: 'https://x.example',
    };
    for (const text of [file, uncommented]) {
      const path = join(folder, 'tried.yaml');
      await writeFile(path, text);
      expect(() => loadGatewayFile(path, keys)).not.toThrow();
    }
    expect(uncommented).not.toMatch(/^ *# +[-{]/m);
    await expect(started('init')).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('stays as it is') });
  });

  it('writes no gateway.yaml through a link that leads nowhere', async () => {
    const cwd = await mkdtemp(join(folder, 'linked-'));
    const elsewhere = join(folder, 'elsewhere.yaml');
    await symlink(elsewhere, join(cwd, 'gateway.yaml'));
    const refused = run(process.execPath, [program, 'init'], { cwd, env: { HOME: folder, PATH: process.env.PATH } });
    await expect(refused).rejects.toMatchObject({
      code: 1,
      stderr: 'gateway.yaml exists already, and stays as it is.\n',
    });
    await expect(readFile(elsewhere)).rejects.toThrow('ENOENT');
  });

  it('starts a gateway whose printed line streams an answer, and whose console is there', async () => {
    const env = {
      HOME: folder,
      PATH: process.env.PATH,
      PORT: '0',
      ADMIN_PORT: '0',
      GATEWAY_DATA: join(folder, 'data'),
    };
    const child = spawn(process.execPath, [program], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      let console = '';
      let curl = '';
      for await (const line of createInterface({ input: child.stdout })) {
        console = /^ +Console +(\S+)/.exec(line)?.[1] ?? console;
        if (line.startsWith('curl ')) curl = line;
        if (curl !== '' && console !== '') break;
      }
      const answer = await run('sh', ['-c', `${curl} --silent`], { env });
      expect(answer.stdout.trimEnd().endsWith('data: [DONE]')).toBe(true);
      expect(await (await fetch(console)).text()).toContain('<div id="console">');
    } finally {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    expect(child.exitCode).toBe(0);
  });

  it.each([
    ['the launcher', 'SIGTERM'],
    ['the launcher', 'SIGINT'],
    ['npx', 'SIGTERM'],
    ['npx', 'SIGHUP'],
    ['npx', 'SIGKILL'],
  ] as const)('leaves no gateway when %s gets %s', async (who, signal) => {
    const clone = join(folder, `project-${who.length}-${signal}`);
    const bin = join(clone, 'node_modules/.bin');
    await mkdir(bin, { recursive: true });
    await symlink(join(folder, 'package'), join(clone, 'node_modules/model-gateway'));
    await symlink('../model-gateway/bin/model-gateway.js', join(bin, 'model-gateway'));
    await writeFile(join(clone, 'package.json'), '{"name":"project","private":true}');
    const path = `${dirname(process.execPath)}:${process.env.PATH}`;
    const env = { HOME: clone, PATH: path, PORT: '0', ADMIN_PORT: '0', GATEWAY_DATA: join(clone, 'data') };
    const [command, ...args] = who === 'npx' ? ['npx', '--no', 'model-gateway'] : [join(bin, 'model-gateway')];
    const child = spawn(command ?? '', args, { cwd: clone, env, stdio: ['ignore', 'pipe', 'ignore'] });
    const exited = once(child, 'exit');
    let livez = '';
    for await (const line of createInterface({ input: child.stdout })) {
      const [console] = /(?<=^ +Console +)\S+/.exec(line) ?? [];
      livez = console === undefined ? livez : new URL('/livez', console).href;
      if (line.startsWith('curl ')) break;
    }
    expect((await fetch(livez)).status).toBe(200);
    child.kill(signal);
    if (who === 'the launcher') expect(await exited).toEqual([0, null]);
    await expect.poll(() => fetch(livez).catch(() => 'gone'), { timeout: roomMs(30_000) }).toBe('gone');
  });
});
