import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { copyForImage, copySources, folderForCopies, linkPackages } from './__fixtures__/copies.ts';
import { provenanceOf } from './files/provenance.ts';
import { refusalOf, type Source } from './source.ts';
import { summary } from './summary.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const { version }: { readonly version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const copies = folderForCopies();
afterAll(() => copies[Symbol.dispose]());
const one = join(copies.path, 'one');
const other = join(copies.path, 'a longer/path/to another');

/** The packages for development that a release needs. */
const tools = ['tar-stream'];

/** What each of two builders prints, and the folder with its files. */
let printed: readonly string[];
const released = [join(one, 'dist-release'), join(copies.path, 'elsewhere')] as const;

beforeAll(async () => {
  mkdirSync(one);
  await copySources(one);
  await Promise.all([
    linkPackages(one, tools),
    run('sh', ['-c', 'umask 077; git clone --quiet "$0" "$1"', one, other]).then(() => linkPackages(other, tools)),
  ]);
  printed = await Promise.all([
    release(one, '022', { TZ: 'Pacific/Auckland', LC_ALL: 'C' }),
    release(other, '077', { TZ: 'America/St_Johns', LC_ALL: 'tr_TR.UTF-8', HOME: other }, '--output', released[1]),
  ]);
});

async function release(
  folder: string,
  mask: string,
  env: Readonly<Record<string, string>>,
  ...parameters: readonly string[]
): Promise<string> {
  const command = [process.execPath, 'deploy/release/release.ts', '--dry-run', ...parameters];
  const { stdout } = await run('sh', ['-c', `umask ${mask}; exec "$@"`, 'sh', ...command], {
    cwd: folder,
    env: { PATH: process.env.PATH, GIT_CONFIG_COUNT: '1', ...safe, ...env },
  });
  return stdout;
}

/** A clone may belong to another user than the one who tests. */
const safe = { GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' };

const read = (name: string) => readFileSync(join(released[0], name));
const digest = (name: string) => createHash('sha256').update(read(name)).digest('hex');

describe('npm run release -- --dry-run', () => {
  it('makes the same bytes in another folder, time zone, language and umask', () => {
    const sums = released.map((folder) => readFileSync(join(folder, 'SHA256SUMS'), 'utf8'));
    expect(sums[1]).toBe(sums[0]);
  });

  it('lists the digest of each file, as sha256sum does', () => {
    const names = readdirSync(released[0]).filter((name) => name !== 'SHA256SUMS');
    expect(names.toSorted()).toEqual(
      [
        `model-gateway-${version}.cdx.json`,
        `model-gateway-${version}.provenance.json`,
        `model-gateway-${version}.tgz`,
        `model-gateway-chart-${version}.tgz`,
        `model-gateway-image-${version}.tgz`,
      ].toSorted(),
    );
    const lines = read('SHA256SUMS').toString().trimEnd().split('\n');
    expect(lines.toSorted()).toEqual(names.map((name) => `${digest(name)}  ${name}`).toSorted());
  });

  it('prints each file with its size and digest, where it would be published, and that it is not signed', () => {
    for (const text of printed) {
      for (const name of readdirSync(released[0])) {
        expect(text).toMatch(new RegExp(`^${name.replaceAll('.', '\\.')} +[\\d.]+ [kM]B +${digest(name)}$`, 'm'));
      }
      expect(text).toContain(`npm: model-gateway@${version}`);
      expect(text).toContain(`<registry>/model-gateway:${version} `);
      expect(text).toContain(`<registry>/charts/model-gateway:${version} `);
      expect(text).toContain(`GitHub: v${version}`);
      expect(text).toContain('The provenance is not signed');
      expect(text).not.toContain('WARNING');
    }
  });

  it('packs every file of the chart, and nothing else', async () => {
    const chart = globSync('**/*', { cwd: join(root, 'deploy/kubernetes/chart'), withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) =>
        join(parentPath, name).replace(join(root, 'deploy/kubernetes/chart'), 'model-gateway'),
      );
    expect((await filesIn(`model-gateway-chart-${version}.tgz`)).toSorted()).toEqual(chart.toSorted());
  });

  it('sorts archives, and gives their files one owner, one time and modes of their own', async () => {
    for (const name of readdirSync(released[1]).filter((each) => each.endsWith('.tgz'))) {
      const { stdout } = await run(
        'tar',
        ['--list', '--verbose', '--numeric-owner', '--file', join(released[1], name)],
        {
          env: { PATH: process.env.PATH, TZ: 'UTC', LC_ALL: 'C' },
        },
      );
      const entries = stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/\s+/));
      const names = entries.map((entry) => entry[5] ?? '');
      expect(names).toEqual(names.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(new Set(entries.map(([mode, owner]) => `${mode} ${owner}`)).difference(allowed)).toEqual(new Set());
      expect(new Set(entries.map((entry) => `${entry[3]} ${entry[4]}`)).size).toBe(1);
    }
  });
  const allowed = new Set(['-rw-r--r-- 0/0', '-rwxr-xr-x 0/0']);

  it('has the same programs in the package as in the image', async () => {
    const inPackage = await programsIn(`model-gateway-${version}.tgz`, 'package/programs');
    expect(await programsIn(`model-gateway-image-${version}.tgz`, 'content/programs')).toEqual(inPackage);
    expect(inPackage.size).toBeGreaterThan(100);
  });

  it('has the programs and documents that the Dockerfile builds by itself', async () => {
    const folder = join(copies.path, 'image');
    mkdirSync(folder);
    const { copied, command } = stageOfContent();
    await copyForImage(folder, [...copied, 'package.json', 'package-lock.json']);
    await linkPackages(folder, []);
    const built = join(folder, 'built/content');
    expect(command).toMatch(/^node \S+ \/content$/);
    const [, program = ''] = command.split(' ');
    const seconds = String(Number(new Date('2026-01-02T03:04:05Z')) / 1_000);
    await run(process.execPath, [program, built], {
      cwd: folder,
      env: { PATH: process.env.PATH, SOURCE_DATE_EPOCH: seconds },
    });
    expect(digestsBelow(built)).toEqual(digestsBelow(await unpacked(`model-gateway-image-${version}.tgz`, 'content')));
  });
});

/** What the stage `content` of the Dockerfile copies from the sources, and what it runs. */
function stageOfContent() {
  const dockerfile = readFileSync(join(root, 'deploy/docker/Dockerfile'), 'utf8');
  const [, stage = ''] = /^FROM \S+ AS content\n(.*?)^FROM /ms.exec(dockerfile) ?? [];
  const copied = [...stage.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  return { copied, command: /^RUN (.*)$/m.exec(stage)?.[1] ?? '' };
}

describe('the bill of materials', () => {
  it('has exactly the packages that the programs name above their code, and those of the console', async () => {
    const { components } = z
      .object({ components: z.array(z.object({ 'bom-ref': z.string(), purl: z.string() })) })
      .parse(JSON.parse(read(`model-gateway-${version}.cdx.json`).toString()));
    const listed = new Set(components.map(({ 'bom-ref': id }) => id.replace(/@[^@]+$/, '')));
    const folder = await unpacked(`model-gateway-${version}.tgz`, 'package/programs');
    const named = globSync('**/*.mjs', { cwd: folder })
      .filter((path) => !path.startsWith('packages/'))
      .flatMap(
        (path) => readFileSync(join(folder, path), 'utf8').match(/^\s*\/\/(?:#region)? .*node_modules\/.*/gm) ?? [],
      )
      .flatMap((line) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(line)?.[1] ?? []);
    const ofConsole: readonly { readonly name: string }[] = JSON.parse(
      readFileSync(join(one, 'services/admin/console/dist/.parts.json'), 'utf8'),
    );
    const copied = globSync('packages/**/package.json', { cwd: folder }).map(
      (path) => /^packages\/((?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(path)?.[1] ?? path,
    );
    expect(named.length).toBeGreaterThan(100);
    expect(listed).toEqual(new Set([...named, ...copied, ...ofConsole.map(({ name }) => name)]));
    for (const tool of ['vitest', 'rolldown', 'vite', 'typescript']) expect(listed).not.toContain(tool);
  });

  it('names dependencies that it has, and reaches each part from the gateway', () => {
    const bill = z
      .object({
        metadata: z.object({
          timestamp: z.literal('2026-01-02T03:04:05.000Z'),
          component: z.object({ 'bom-ref': z.string() }),
        }),
        components: z.array(z.object({ 'bom-ref': z.string() })),
        dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
      })
      .parse(JSON.parse(read(`model-gateway-${version}.cdx.json`).toString()));
    const dependencies = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const reached = new Set([bill.metadata.component['bom-ref']]);
    for (const id of reached) for (const next of dependencies.get(id) ?? []) reached.add(next);
    const own = bill.metadata.component['bom-ref'];
    expect(reached).toEqual(new Set([own, ...bill.components.map(({ 'bom-ref': id }) => id)]));
  });
});

describe('the provenance', () => {
  it('names the digest of each file, the commit, and that of package-lock.json', () => {
    const { subject, predicate } = z
      .object({
        _type: z.literal('https://in-toto.io/Statement/v1'),
        predicateType: z.literal('https://slsa.dev/provenance/v1'),
        subject: z.array(z.object({ name: z.string(), digest: z.object({ sha256: z.string() }) })),
        predicate: z.object({
          buildDefinition: z.object({
            internalParameters: z.object({
              signed: z.literal(false),
              uncommittedChanges: z.array(z.string()).length(0),
            }),
            resolvedDependencies: z.array(
              z.object({ name: z.string(), digest: z.record(z.string(), z.string()).optional() }),
            ),
          }),
          runDetails: z.object({ builder: z.object({ id: z.string() }) }),
        }),
      })
      .parse(JSON.parse(read(`model-gateway-${version}.provenance.json`).toString()));
    expect(subject.length).toBe(4);
    for (const {
      name,
      digest: { sha256 },
    } of subject)
      expect(sha256).toBe(digest(name));
    const dependencies = new Map(
      predicate.buildDefinition.resolvedDependencies.map((each) => [each.name, each.digest]),
    );
    const lockfile = createHash('sha256')
      .update(readFileSync(join(one, 'package-lock.json')))
      .digest('hex');
    expect(dependencies.get('package-lock.json')).toEqual({ sha256: lockfile });
    expect(dependencies.get('source')?.gitCommit).toMatch(/^[0-9a-f]{40}$/);
  });
});

describe('a release of sources with uncommitted changes', () => {
  const changed: Source = { ...sourceOf(), changes: [' M package.json', '?? libs/made-up.ts'] };

  it('says so where it prints, and lists them in the provenance', () => {
    expect(summary(changed, '<registry>', one, [])).toMatch(
      /^WARNING: .*\n {3}M package\.json\n {2}\?\? libs\/made-up\.ts\n/m,
    );
    expect(provenanceOf(changed, [], '').predicate.buildDefinition.internalParameters.uncommittedChanges).toEqual(
      changed.changes,
    );
  });

  it('is refused when it is that of a tag', () => {
    expect(refusalOf(changed, 'v1.2.3')).toBe('There are uncommitted changes:\n M package.json\n?? libs/made-up.ts');
    expect(refusalOf(changed, undefined)).toBeUndefined();
  });
});

describe('a release of a tag', () => {
  it.each([
    ['another version', { version: '1.2.4' }, 'The tag is v1.2.3, and package.json has version 1.2.4.'],
    ['another commit', { tags: ['v1.2.2'] }, 'The commit 0123abc is not that of the tag v1.2.3.'],
    ['sources without an address', { url: undefined }, /^package\.json names no repository/],
  ])('is refused for %s', (_, difference, sentence) => {
    expect(refusalOf(sourceOf(), 'v1.2.3')).toBeUndefined();
    expect(refusalOf({ ...sourceOf(), ...difference }, 'v1.2.3')).toMatch(sentence);
  });
});

describe('npm run release', () => {
  it('publishes nothing, and names the workflow that does', async () => {
    const command = run(process.execPath, [join(root, 'deploy/release/release.ts'), '--output', copies.path]);
    await expect(command).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Only the workflow \.github\/workflows\/release\.yml publishes/),
    });
  });

  it('replaces no folder with other files', async () => {
    const folder = join(copies.path, 'mine');
    mkdirSync(folder);
    writeFileSync(join(folder, 'kept.txt'), 'kept');
    const command = run(process.execPath, [join(root, 'deploy/release/release.ts'), '--dry-run', '--output', folder]);
    await expect(command).rejects.toThrow(/has files that are not those of a release/);
    expect(readdirSync(folder)).toEqual(['kept.txt']);
  });
});

function sourceOf(): Source {
  return {
    ...{ repository: root, name: 'model-gateway', version: '1.2.3', commit: '0123abc', tags: ['v1.2.3'], changes: [] },
    ...{ url: 'https://git.example.com/model-gateway', time: new Date(0) },
  };
}

async function filesIn(archive: string): Promise<readonly string[]> {
  const { stdout } = await run('tar', ['--list', '--file', join(released[0], archive)]);
  return stdout.trimEnd().split('\n');
}

/** The digests of the files below a folder of an archive, by path. */
async function programsIn(archive: string, folder: string): Promise<ReadonlyMap<string, string>> {
  return digestsBelow(await unpacked(archive, folder));
}

/** The folder of an archive, unpacked. */
async function unpacked(archive: string, folder: string): Promise<string> {
  const target = join(copies.path, 'unpacked', archive);
  mkdirSync(target, { recursive: true });
  await run('tar', ['--extract', '--file', join(released[0], archive), '--directory', target]);
  return join(target, folder);
}

function digestsBelow(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const file = join(parentPath, name);
      return [file.slice(folder.length), createHash('sha256').update(readFileSync(file)).digest('hex')];
    }),
  );
}
