import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

// Checks that the last commit runs with only production packages, and how much they weigh. Clones
// it into an empty folder, and tries `npm ci --omit=dev`, `npm start`, the curl line that it
// prints, and the console. Takes a minute, and needs the registry.
//
//   npm run check:size

const largestMegabytes = 300;
const repository = join(import.meta.dirname, '../..');
const run = promisify(execFile);

await using folder = await mkdtempDisposable(join(tmpdir(), 'gateway-install-'));
const cwd = join(folder.path, 'model-gateway');
await run('git', ['clone', '--quiet', '--depth', '1', `file://${repository}`, cwd]);

// Not this repository's Node, but the one that a new clone installs.
const path = (process.env.PATH ?? '').split(delimiter).filter((each) => !each.includes('node_modules'));
const env = { ...process.env, PATH: path.join(delimiter), PORT: '0', ADMIN_PORT: '0' };
const { stderr } = await run('npm', ['ci', '--omit=dev'], { cwd, env, timeout: 600_000 });
const warnings = stderr.split('\n').filter((line) => line.startsWith('npm warn'));
say(`npm ci --omit=dev: ${warnings.length} warnings`, ...warnings);

const { stdout } = await run('du', ['-sm', 'node_modules'], { cwd });
const megabytes = Number.parseInt(stdout, 10);
expect(megabytes < largestMegabytes, `node_modules takes ${megabytes} MB, of at most ${largestMegabytes}`);

const started = spawn('npm', ['start'], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
try {
  const { curl, console } = await welcomeOf(started.stdout);
  const answer = await run('sh', ['-c', `${curl} --silent --max-time 60`]);
  expect(answer.stdout.trimEnd().endsWith('data: [DONE]'), 'the printed curl line streams an answer');
  const page = await fetch(console, { signal: AbortSignal.timeout(10_000) });
  expect((await page.text()).includes('<div id="console">'), 'the console is served');
} finally {
  if (started.pid !== undefined) process.kill(-started.pid, 'SIGTERM');
  await once(started, 'close');
}

async function welcomeOf(output: NodeJS.ReadableStream): Promise<{ readonly curl: string; readonly console: string }> {
  let console = '';
  for await (const line of createInterface({ input: output, signal: AbortSignal.timeout(60_000) })) {
    console = /^ +Console +(\S+)/.exec(line)?.[1] ?? console;
    if (line.startsWith('curl ')) return { curl: line, console };
  }
  throw new Error('npm start ended without a curl line.');
}

function expect(holds: boolean, what: string): void {
  say(`${holds ? 'yes' : 'NO '}  ${what}`);
  if (!holds) process.exitCode = 1;
}

function say(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
