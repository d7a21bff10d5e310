import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';

const run = promisify(execFile);

/** Clients as their makers publish them. They are large, so only these tests download them. */
export const clientPackages = {
  claude: '@anthropic-ai/claude-code@2.1.332',
  codex: '@openai/codex@0.171.0',
  opencode: 'opencode-ai@1.18.33',
} as const;

/** The folder with the programs, downloaded once for each set of versions. */
export async function clientPrograms(): Promise<string> {
  const folder = join(cacheFolder(), 'clients');
  const programs = join(folder, 'node_modules/.bin');
  const wanted = Object.values(clientPackages);
  const areThere = await Promise.all(wanted.map((each) => isInstalled(folder, each)));
  if (!areThere.includes(false)) return programs;
  await mkdir(folder, { recursive: true });
  process.stdout.write(`sign-in: downloading ${wanted.join(', ')}\n`);
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, ...wanted], {
    timeout: roomMs(600_000),
  });
  return programs;
}

export interface ClientRun {
  readonly code: number;
  readonly text: string;
}

/** Runs a client until it ends, without a terminal, and with nothing but these variables. */
export async function runClient(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<ClientRun> {
  const running = run(program, args, { cwd, env, timeout: roomMs(60_000) });
  running.child.stdin?.end();
  const { code = 0, stdout, stderr } = await running.catch((failed) => failed);
  return { code, text: `${stdout}${stderr}` };
}

/** How long it takes, for those who read what the tests print. */
export async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  const result = await work();
  process.stdout.write(`sign-in: ${what}: ${((performance.now() - startMs) / 1_000).toFixed(1)} s\n`);
  return result;
}

/** @param wanted "opencode-ai@1.18.33" */
async function isInstalled(folder: string, wanted: string): Promise<boolean> {
  const [, name = '', version] = /^(.+)@(.+)$/.exec(wanted) ?? [];
  const described = await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8').catch(() => '{}');
  return JSON.parse(described).version === version;
}
