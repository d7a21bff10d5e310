import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Simulator, startSimulator } from '@gateway/simulator';
import { type ServiceName, serviceNames, startBackends } from '@gateway/testkit';
import { writeDevCertificates } from './dev-certificates.ts';
import { issueToken } from './issue-token.ts';
import { ask } from './rolling-restart/ask.ts';
import { openBalancer } from './rolling-restart/balancer.ts';
import { rotateCertificates } from './rolling-restart/rotate-certificates.ts';
import { SmallRequests } from './rolling-restart/small-requests.ts';
import { Streams, streamedModels } from './rolling-restart/streams.ts';
import { askReadiness, type RunningServices, runServices } from './run-services.ts';

// Replaces every process of a gateway, one after the other, while clients use it. All services run
// on this machine, two of each and three edges behind a load balancer, on simulated providers and
// on a Redis, a NATS and a Postgres of their own. Exits with status 0 if no stream was cut, no
// request failed, and the recorded usage is what the providers served.
//
//   npm run rolling-restart -- [--streams 300] [--stream-seconds 15] [--edges 3]
//     [--only <service>]... [--once] [--tls] [--logs]
//
// - `--only` replaces only processes of these services.
// - `--once` replaces one process of each service.
// - `--tls`: services speak TLS, and all certificates are replaced in the middle.

const { values: flags } = parseArgs({
  options: {
    streams: { type: 'string', default: '300' },
    'stream-seconds': { type: 'string', default: '15' },
    edges: { type: 'string', default: '3' },
    'small-per-second': { type: 'string', default: '20' },
    'drain-delay-seconds': { type: 'string', default: '2' },
    only: { type: 'string', multiple: true },
    once: { type: 'boolean', default: false },
    tls: { type: 'boolean', default: false },
    logs: { type: 'boolean', default: false },
  },
});
const [streamCount, streamSeconds, edgeCount, smallPerSecond, drainDelaySeconds] = [
  flags.streams,
  flags['stream-seconds'],
  flags.edges,
  flags['small-per-second'],
  flags['drain-delay-seconds'],
].map(Number) as [number, number, number, number, number];

/**
 * The pace of the providers: slow enough that hundreds of streams leave processor time on a machine
 * of two cores.
 */
const eventDelayMs = Math.min(500, streamSeconds * 50);

await using stack = new AsyncDisposableStack();
const startMs = performance.now();
const folder = await mkdtemp(join(tmpdir(), 'gateway-rolling-'));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const certificates = flags.tls ? join(folder, 'certificates') : undefined;
const problems: string[] = [];
process.exitCode = (await run()) ? 0 : 1;

async function run(): Promise<boolean> {
  if (certificates !== undefined) await writeDevCertificates(certificates);
  const simulator = stack.use(await startSimulator({ faults: streamedModels.map(slowly) }));
  const services = await startServices(simulator);
  const limits = { label: 'rolling restart', requestsPerMinute: 1_000_000, tokensPerDay: 1_000_000_000_000 };
  const token = await issueToken(services.identity[0]?.grpcUrl ?? '', limits, certificates);
  const edges = services['edge-router'].map(({ publicUrl = '', adminUrl }) => ({
    url: publicUrl,
    checkReadiness: () => askReadiness(adminUrl, certificates),
  }));
  const { url: baseUrl } = stack.use(await openBalancer(edges));

  let doing = 'opening streams';
  const note = (kind: string) => (problem: string) => {
    problems.push(`${secondsSince(startMs)} ${kind}, while ${doing}: ${problem}`);
  };
  const client = { baseUrl, token };
  const streams = new Streams({
    ...client,
    count: streamCount,
    words: Math.round((streamSeconds * 1_000) / eventDelayMs),
    seconds: streamSeconds,
    onCut: note('a stream was cut'),
  });
  const small = new SmallRequests({ ...client, perSecond: smallPerSecond, onFailure: note('a request failed') });
  say(`${streamCount} concurrent streams of ${streamSeconds} s, ${smallPerSecond} small requests per second`);
  await sleep(Math.min(streamSeconds, 5) * 1_000);

  const order = serviceNames
    .filter(isReplaced)
    .flatMap((name) => services[name].slice(0, flags.once ? 1 : undefined).map((_, n) => ({ name, n })));
  for (const [at, { name, n }] of order.entries()) {
    if (certificates !== undefined && at === Math.floor(order.length / 2)) {
      doing = 'replacing certificates';
      await rotateCertificates(certificates, say);
    }
    doing = `replacing ${name} ${n + 1}`;
    const { process: replica } = services[name][n] ?? {};
    const sinceMs = performance.now();
    await replica?.stop();
    const stoppedMs = performance.now();
    await replica?.restart();
    say(
      `${name} ${n + 1} of ${services[name].length}: ended after ${secondsSince(sinceMs, stoppedMs)}, ready after another ${secondsSince(stoppedMs)}; cut ${streams.cut}, failed ${small.failed}`,
    );
  }
  doing = 'ending';
  await Promise.all([streams.stop(), small.stop()]);
  const books = await compareBooks(simulator, client);
  for (const problem of problems.slice(0, 40)) say(problem);
  const isExact = books.served === books.recorded;
  process.stdout.write(
    [
      '',
      `processes replaced      ${order.length} in ${secondsSince(startMs)}`,
      `streams cut             ${streams.cut} of ${streams.whole + streams.cut}, ${streamCount} at a time`,
      `small requests failed   ${small.failed} of ${small.count}; half within ${Math.round(small.percentileMs(0.5))} ms, 99 % within ${Math.round(small.percentileMs(0.99))} ms`,
      `providers served        ${books.served}`,
      `usage recorded          ${books.recorded}${isExact ? '' : '  NOT THE SAME'}`,
      '',
    ].join('\n'),
  );
  return streams.cut === 0 && small.failed === 0 && isExact && problems.length === 0;
}

/** Its answers are slow; all others come at once. */
function slowly(model: string) {
  return { model, fault: { kind: 'delay', betweenEventsMs: eventDelayMs } } as const;
}

async function startServices(simulator: Simulator): Promise<RunningServices> {
  // A rehearsal has servers of its own, whatever the environment names.
  const { backends } = stack.use(await startBackends({}));
  return runServices(
    {
      backends,
      gatewayConfigFile: join(import.meta.dirname, '../docker/gateway.yaml'),
      port: 0,
      adminPort: 0,
      startTimeoutMs: 600_000,
      dataFolder: undefined,
      tokenHashKey: undefined,
      adminToken: '',
      certificates,
      replicas: new Map(serviceNames.map((name) => [name, replicasOf(name)])),
      haveSharedNames: true,
      env: {
        SIMULATOR_URL: simulator.url,
        LOG_LEVEL: 'warn',
        DRAIN_DELAY_SECONDS: String(drainDelaySeconds),
      },
      envOf: new Map(),
      drainTimeoutSeconds: 3 * streamSeconds + 30,
      onLine: (service, line) => {
        if (flags.logs) say(`${service} | ${line}`);
      },
      onUnexpectedEnd: (service, _, how) => problems.push(`${service} ${how}`),
    },
    stack,
    new AbortController().signal,
  );
}

/** Processes that are not replaced need no second replica. */
function replicasOf(name: ServiceName): number {
  if (name === 'edge-router') return edgeCount;
  return isReplaced(name) ? 2 : 1;
}

function isReplaced(name: ServiceName): boolean {
  return flags.only?.includes(name) ?? true;
}

/**
 * The tokens that the providers billed, and those of `GET /v1/usage`. The last events arrive within
 * seconds.
 */
async function compareBooks(simulator: Simulator, client: { readonly baseUrl: string; readonly token: string }) {
  const { total } = simulator.billed();
  const served = textOf(total);
  const agent = new Agent();
  let recorded = '';
  for (let tries = 0; recorded !== served && tries < 30; tries++) {
    await sleep(1_000);
    const answer = await ask({ ...client, agent }, { method: 'GET', path: '/v1/usage' });
    recorded = textOf((JSON.parse(answer) as { readonly last7Days: Books }).last7Days);
  }
  return { served, recorded };
}

type Books = Readonly<Record<'requests' | 'inputTokens' | 'cachedTokens' | 'outputTokens', number>>;

function textOf({ requests, inputTokens, cachedTokens, outputTokens }: Books): string {
  return `${requests} requests, ${inputTokens} tokens of input, ${cachedTokens} of them cached, ${outputTokens} of output`;
}

function secondsSince(fromMs: number, untilMs = performance.now()): string {
  return `${((untilMs - fromMs) / 1_000).toFixed(1)} s`;
}

function say(text: string): void {
  process.stdout.write(`${secondsSince(startMs).padStart(8)}  ${text}\n`);
}
