import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startSimulator } from '@gateway/simulator';
import { Inspector } from './inspector.ts';

// Prints our files that one relayed `POST /v1/messages` executes in one process, by package, and
// fails if there are more than budgets.json allows. `--list` names them. V8 counts: its call counts
// are reset before a request and read after it. The simulated providers run in this process and are
// not counted.

const root = join(import.meta.dirname, '../../..');
const warmRequests = 20;
/**
 * A function counts if every request executes it. Timers that fire during one of them then do not
 * count: requests are sent until one more changes nothing, as timers are many on a busy machine.
 */
const mostCountedRequests = 10;
/** Time for the usage of a request to reach the ledger. */
const settleMs = 300;

/** Libraries that a reader uses without opening them to follow a request. */
const unopened = ['json', 'sse', 'time', 'telemetry', 'tokens', 'errors', 'presentation', 'rpc'];
/** The number of files that a reader can keep in mind. */
const aim = 60;

const { values: options } = parseArgs({ options: { list: { type: 'boolean', default: false } } });
const budgets: { readonly requestFiles: number } = JSON.parse(
  await readFile(join(import.meta.dirname, 'budgets.json'), 'utf8'),
);
await using stack = new AsyncDisposableStack();
const gateway = await startGateway(stack);
print(await countExecuted(gateway));

interface Gateway {
  readonly messagesUrl: string;
  readonly token: string;
  readonly inspectorUrl: string;
}

/** Functions that were executed, by file. */
type Executed = ReadonlyMap<string, ReadonlySet<string>>;

async function countExecuted({ messagesUrl, token, inspectorUrl }: Gateway): Promise<Executed> {
  using inspector = await Inspector.connect(inspectorUrl);
  await inspector.call('Profiler.enable');
  await inspector.call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  for (let request = 0; request < warmRequests; request++) await ask(messagesUrl, token);
  let shared: Executed | undefined;
  for (let request = 0; request < mostCountedRequests; request++) {
    await sleep(settleMs);
    await inspector.call('Profiler.takePreciseCoverage');
    await ask(messagesUrl, token);
    await sleep(settleMs);
    const executed = executedOf(await inspector.call<Coverage>('Profiler.takePreciseCoverage'));
    const narrowed = shared === undefined ? executed : inBoth(shared, executed);
    if (shared !== undefined && functionsIn([...narrowed]) === functionsIn([...shared])) return narrowed;
    shared = narrowed;
  }
  return shared ?? new Map();
}

function inBoth(one: Executed, other: Executed): Executed {
  const shared = [...one].map(
    ([file, functions]) => [file, functions.intersection(other.get(file) ?? new Set())] as const,
  );
  return new Map(shared.filter(([, functions]) => functions.size > 0));
}

async function ask(url: string, token: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gateway/claude',
      max_tokens: 1_024,
      stream: true,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  });
  const text = await response.text();
  if (!text.includes('event: message_stop\n')) throw new Error(`The gateway answered ${response.status}: ${text}`);
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

function executedOf({ result }: Coverage): Executed {
  const executed = new Map<string, Set<string>>();
  for (const { url, functions } of result) {
    const file = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : '';
    if (!/^(libs|services)\/[^/]+\/src\//.test(file)) continue;
    const called = functions.flatMap(({ functionName, ranges: [range] }) =>
      range !== undefined && range.count > 0 ? [`${functionName}@${range.startOffset}`] : [],
    );
    if (called.length > 0) executed.set(file, new Set(called));
  }
  return executed;
}

function print(executed: Executed): void {
  const packages = [...Map.groupBy(executed, ([file]) => file.split('/', 2).join('/'))];
  packages.sort(([, one], [, other]) => other.length - one.length);
  const [libraries = [], road = []] = [isUnopened, (name: string) => !isUnopened(name)].map((isListed) =>
    packages.filter(([name]) => isListed(name)),
  );
  const files = road.flatMap(([, each]) => each);
  const lines = [
    'One relayed POST /v1/messages in one process executes',
    row('', 'files', 'functions'),
    ...rowsOf(road),
    row('to read', files.length, functionsIn(files)),
    '',
    'Libraries that need no reading to follow a request',
    ...rowsOf(libraries),
    '',
    `${files.length} files to read; the budget is ${budgets.requestFiles}, the aim ${aim}.`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  if (files.length <= budgets.requestFiles) return;
  process.stderr.write('More files than the budget: shorten the road of a request.\n');
  process.exitCode = 1;
}

function isUnopened(name: string): boolean {
  return unopened.some((library) => name === `libs/${library}`);
}

type ExecutedFiles = readonly (readonly [file: string, functions: ReadonlySet<string>])[];

function rowsOf(packages: readonly (readonly [name: string, files: ExecutedFiles])[]): readonly string[] {
  return packages.flatMap(([name, files]) => {
    const listed = files.map(([file, functions]) => row(`  ${file.slice(name.length + 1)}`, '', functions.size));
    return [row(name, files.length, functionsIn(files)), ...(options.list ? listed.toSorted() : [])];
  });
}

function functionsIn(files: ExecutedFiles): number {
  return files.reduce((sum, [, functions]) => sum + functions.size, 0);
}

function row(name: string, files: number | string, functions: number | string): string {
  return `${name.padEnd(48)}${String(files).padStart(6)}${String(functions).padStart(11)}`;
}

/**
 * The all-in-one with its embedded storage and simulated providers, under the inspector; `stack`
 * stops it.
 */
async function startGateway(stack: AsyncDisposableStack): Promise<Gateway> {
  const simulator = stack.use(await startSimulator());
  const data = await mkdtemp(join(tmpdir(), 'count-files-'));
  stack.defer(() => rm(data, { recursive: true, force: true }));
  const child = spawn(process.execPath, ['--inspect=127.0.0.1:0', 'services/all-in-one/src/main.ts'], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      ADMIN_PORT: '0',
      GATEWAY_DATA: data,
      GATEWAY_CONFIG: 'deploy/docker/gateway.yaml',
      SIMULATOR_URL: simulator.url,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  stack.defer(() => ended(child));
  const [inspectorUrl = ''] = await lineWith(child.stderr, /ws:\/\/\S+/);
  const [, chatUrl = '', token = ''] = await lineWith(child.stdout, /\b(http:\S+) .*?\bBearer ([^']+)'/);
  return { messagesUrl: new URL('/v1/messages', chatUrl).href, token, inspectorUrl };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill();
  await once(child, 'exit');
}

/** @throws Error with all lines when none of them matches. */
async function lineWith(output: Readable, pattern: RegExp): Promise<RegExpExecArray> {
  const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
  const lines: string[] = [];
  createInterface({ input: output })
    .on('line', (line) => {
      lines.push(line);
      const match = pattern.exec(line);
      if (match !== null) resolve(match);
    })
    .once('close', () => reject(new Error(`The gateway did not start:\n${lines.join('\n')}`)));
  return promise;
}
