import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheFolder, plannedPackages } from './debian-packages.js';
import { installedPrograms, packagesInPlan, searchPrograms } from './find-programs.ts';
import { postgres, redis } from './servers.ts';

describe('the search for programs', () => {
  const none = async () => undefined;
  const refuse = async () => {
    throw new Error('apt-get update: not installed');
  };

  it('prefers what the machine has', async () => {
    const installed = { folder: '/usr/bin', libraryFolders: [] };
    expect(await searchPrograms(redis, [], { installed: async () => installed, packaged: refuse })).toBe(installed);
  });

  it('falls back to packages', async () => {
    const packaged = { folder: '/cache/usr/bin', libraryFolders: ['/cache/usr/lib'] };
    expect(await searchPrograms(redis, [], { installed: none, packaged: async () => packaged })).toBe(packaged);
  });

  it('says everything that was tried, and what to do, when there is nothing', async () => {
    const search = searchPrograms(postgres(), ['a container of postgres:17: no Docker engine answers'], {
      installed: none,
      packaged: refuse,
    });
    await expect(search).rejects.toThrow(
      [
        'No postgres server can be had. Tried, in this order:',
        '  - a container of postgres:17: no Docker engine answers',
        '  - postgres and initdb on PATH: not there',
        "  - Debian's packages: apt-get update: not installed",
        'Set DATABASE_URL to a server that runs, start a Docker engine, or install postgres and initdb.',
      ].join('\n'),
    );
  });
});

describe('the programs of the machine', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'installed-programs-'));
  });
  afterEach(() => rm(root, { recursive: true }));

  const addFile = async (path: string, mode = 0o644) => {
    const file = join(root, path);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, '');
    await chmod(file, mode);
  };
  const pathOf = (...names: string[]) => ({ PATH: names.map((name) => join(root, name)).join(delimiter) });

  it('are those of the first folder on PATH that has them', async () => {
    await addFile('empty/readme');
    await addFile('first/redis-server', 0o755);
    await addFile('second/redis-server', 0o755);
    const found = await installedPrograms(redis, pathOf('empty', 'first', 'second'));
    expect(found).toEqual({ folder: join(root, 'first'), libraryFolders: [] });
  });

  it('must be executable', async () => {
    await addFile('first/redis-server', 0o644);
    expect(await installedPrograms(redis, pathOf('first'))).toBeUndefined();
  });

  it('must all be in one folder', async () => {
    await addFile('server/postgres', 0o755);
    await addFile('tools/initdb', 0o755);
    await addFile('both/postgres', 0o755);
    await addFile('both/initdb', 0o755);
    expect((await installedPrograms(postgres(), pathOf('server', 'tools', 'both')))?.folder).toBe(join(root, 'both'));
  });
});

describe('the packages of Debian', () => {
  const plan = `
NOTE: This is only a simulation!
Inst libjemalloc2 (5.3.0-1 Debian:12.15/oldstable [amd64])
Inst redis-tools [5:7.0.15-1] (5:7.0.15-1 Debian-Security:12 [amd64]) []
Inst redis-server (5:7.0.15-1 Debian-Security:12 [amd64])
Inst postgresql-common (248 Debian-Security:12 [all])
Inst libjson-perl (4.10000-1 Debian:12 [all])
Inst libpq-dev (15.18 Debian:12 [amd64])
Inst libllvm14 (1:14.0.6-12 Debian:12 [amd64])
Conf redis-server (5:7.0.15-1 Debian-Security:12 [amd64])
`;

  it('are unpacked when they are wanted or are libraries that are missing, and no others', () => {
    const wanted = ['redis-server', 'redis-tools'];
    expect(packagesInPlan(plannedPackages(plan), wanted)).toEqual(['redis-server', 'redis-tools', 'libjemalloc2']);
  });

  it('are unpacked when they are the version of Postgres that is wanted', () => {
    const ofPostgres = 'Inst postgresql-client-15 (15.18)\nInst postgresql-15 (15.18)\nInst postgresql-common (248)';
    expect(packagesInPlan(plannedPackages(ofPostgres), ['postgresql'])).toEqual([
      'postgresql',
      'postgresql-client-15',
      'postgresql-15',
    ]);
  });

  it('are the wanted ones alone when nothing is missing', () => {
    expect(packagesInPlan(plannedPackages('0 upgraded, 0 newly installed'), ['nats-server'])).toEqual(['nats-server']);
  });

  it.each([
    ['in the home folder', {}, false, join(homedir(), '.cache')],
    ['where XDG_CACHE_HOME says', { XDG_CACHE_HOME: '/caches' }, true, '/caches'],
    // Postgres runs as another user, who can't read root's home.
    ["outside root's home for root", {}, true, '/var/cache'],
  ])('are kept %s', (_where, env, isRoot, cache) => {
    expect(cacheFolder(env, isRoot)).toBe(join(cache, 'model-gateway/programs'));
  });
});
