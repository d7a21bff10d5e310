import { rmSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportProgress } from '../progress.ts';
import type { ProgramKind } from './backend-kind.ts';
import { runCommand } from './run-command.ts';

let ofThisProcess: Promise<AptIndex> | undefined;

/** What Debian's archive offers, read with the system's own sources and keys into a folder of this process. */
export class AptIndex {
  readonly #settings: readonly string[];

  static ofThisProcess(): Promise<AptIndex> {
    ofThisProcess ??= AptIndex.#read();
    ofThisProcess.catch(() => {
      ofThisProcess = undefined;
    });
    return ofThisProcess;
  }

  static async #read(): Promise<AptIndex> {
    const folder = await mkdtemp(join(tmpdir(), 'testkit-apt-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    for (const part of ['lists/partial', 'cache/archives/partial'])
      await mkdir(join(folder, part), { recursive: true });
    const index = new AptIndex(folder);
    reportProgress("reading the index of Debian's archive (apt-get update)");
    await index.#aptGet(['update'], 180_000);
    return index;
  }

  private constructor(folder: string) {
    this.#settings = [
      `Dir::State::lists=${folder}/lists`,
      `Dir::Cache=${folder}/cache`,
      'APT::Sandbox::User=',
      'Debug::NoLocking=1',
      'Acquire::Retries=3',
    ].flatMap((setting) => ['-o', setting]);
  }

  /** The packages that hold a kind's programs, and those of the libraries they need that this machine lacks. */
  async packagesToUnpack(kind: ProgramKind): Promise<readonly string[]> {
    const wanted = kind === 'postgres' ? await this.#postgresPackages() : packagesOf[kind];
    const plan = await this.#aptGet(
      ['install', '--simulate', '--reinstall', '--no-install-recommends', '--assume-yes', ...wanted],
      60_000,
    );
    return packagesInPlan(plan, wanted);
  }

  /** Downloads into a folder; apt checks the signatures. */
  async download(packages: readonly string[], folder: string): Promise<void> {
    await this.#aptGet(['download', ...packages], 600_000, folder);
  }

  /** The release's own version: the package `postgresql` depends on it. */
  async #postgresPackages(): Promise<readonly string[]> {
    const relations = await runCommand('apt-cache', [...this.#settings, 'depends', 'postgresql'], {
      timeoutMs: 60_000,
    });
    const version = /Depends: postgresql-(\d+)/.exec(relations)?.[1];
    if (version === undefined) throw new Error('the archive has no package postgresql');
    return [`postgresql-${version}`, `postgresql-client-${version}`];
  }

  #aptGet(parameters: readonly string[], timeoutMs: number, cwd?: string): Promise<string> {
    return runCommand('apt-get', [...this.#settings, ...parameters], {
      timeoutMs,
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, LC_ALL: 'C' },
    });
  }
}

const packagesOf: Record<Exclude<ProgramKind, 'postgres'>, readonly string[]> = {
  redis: ['redis-server', 'redis-tools'],
  nats: ['nats-server'],
  pgbouncer: ['pgbouncer'],
};

/**
 * The wanted packages and the libraries among what apt would install with them. The rest serves an installed system:
 * service scripts, Perl tools, headers, and the compiler behind Postgres' JIT, which is off.
 */
export function packagesInPlan(plan: string, wanted: readonly string[]): readonly string[] {
  const planned = plan.matchAll(/^Inst (\S+)/gm).map(([, name = '']) => name);
  const needed = planned.filter(
    (name) => wanted.includes(name) || (/^lib/.test(name) && !/llvm|^libz3|-perl$|-dev$/.test(name)),
  );
  return [...new Set([...wanted, ...needed])];
}
