import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { StopSignal, startFailureText } from '@gateway/lifecycle';
import { z } from 'zod';
import { certificateFiles, defaultCertificateFolder } from './dev-certificates.ts';
import { jobs as knownJobs } from './observability/alerts/processes.ts';
import { runPrometheus } from './observability/run-prometheus.ts';
import type { ScrapeJob } from './observability/scrape-configs.ts';

// Starts a Prometheus beside a gateway on this machine, with the rules of deploy/observability: to
// see metrics and alerts, and to show them in your own Grafana. It ends with Ctrl-C. `--targets`
// has addresses as start:services prints them; without it, it uses the gateway of `npm start`.
//
//   npm run observe
//   npm run observe -- --targets edge-router=http://127.0.0.1:41001 --targets limiter=…
//
// `--port` (9091) is Prometheus' own. `--data <folder>` keeps its data. `--certificates <folder>`
// (./data/certificates) has prometheus.crt for targets that begin with https://.

/** The state of Prometheus' targets. */
const targetsSchema = z.object({
  data: z.object({
    activeTargets: z.array(
      z.object({
        labels: z.object({ job: z.string(), instance: z.string() }),
        health: z.enum(['up', 'down', 'unknown']),
        lastError: z.string(),
      }),
    ),
  }),
});

const helpText = `npm run observe -- [options]

Starts a Prometheus beside a gateway on this machine, with the rules for alerts. Ctrl-C ends it.

  --targets <service>=<address>  the ADMIN_PORT of a service, several with commas; npm run start:services
                                 prints them (gateway=http://127.0.0.1:9090, which is npm start)
  --port <port>                  the port of Prometheus (9091)
  --data <folder>                keeps the data of Prometheus
  --certificates <folder>        for targets that begin with https:// (${defaultCertificateFolder})
  --help                         prints this text
`;

try {
  await observe();
} catch (thrown) {
  process.stderr.write(`${startFailureText('Prometheus', thrown)}\n`);
  process.exitCode = 1;
}

async function observe(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      targets: { type: 'string', multiple: true, default: ['gateway=http://127.0.0.1:9090'] },
      port: { type: 'string', default: '9091' },
      data: { type: 'string' },
      certificates: { type: 'string', default: defaultCertificateFolder },
    },
  });
  if (values.help) {
    process.stdout.write(helpText);
    return;
  }
  const jobs = readTargets(values.targets, values.certificates);
  using stop = new StopSignal();
  await using stack = new AsyncDisposableStack();
  const ended = Promise.withResolvers<string>();
  print('looking for Prometheus on this machine; if there is none, it is downloaded from Debian once');
  const url = await runPrometheus(
    {
      port: z.coerce.number().int().min(1).max(65_535).parse(values.port),
      folder: await folderOf(values.data, stack),
      jobs,
      intervalSeconds: 5,
      onUnexpectedEnd: ended.resolve,
    },
    stack,
  );
  process.stdout.write(welcome(url, await pagesOf(url)));
  await Promise.race([reportTargets(url, jobs, stop.signal), stop.received]);
  const how = await Promise.race([stop.received.then(() => undefined), ended.promise]);
  if (how !== undefined) throw new Error(`It ${how}.`);
}

/**
 * `service=address`, several separated by commas or in several flags. @throws Error that describes
 * the invalid one.
 */
function readTargets(texts: readonly string[], certificates: string): readonly ScrapeJob[] {
  const targets = texts.flatMap((text) => text.split(',')).map((text) => readTarget(text));
  const byJob = Map.groupBy(targets, ({ job }) => job);
  return [...byJob].map(([job, each]) => ({
    job,
    targets: each.map(({ host }) => host),
    ...(each.some(({ isTls }) => isTls) && { tls: certificateFiles(resolve(certificates), 'prometheus') }),
  }));
}

function readTarget(text: string) {
  const [, job = '', address = ''] = /^([\w-]+)=(.+)$/.exec(text) ?? [];
  const url = URL.parse(/^https?:\/\//.test(address) ? address : `http://${address}`);
  const isKnown = knownJobs.some((known) => known === job);
  if (!isKnown || url === null || address === '') {
    throw new Error(
      `--targets ${text} must be <service>=<address of its ADMIN_PORT>, such as gateway=http://127.0.0.1:9090. Services: ${knownJobs.join(', ')}.`,
    );
  }
  // A default port is no part of `host`.
  const isTls = url.protocol === 'https:';
  return { job, isTls, host: `${url.hostname}:${url.port || (isTls ? 443 : 80)}` };
}

async function folderOf(given: string | undefined, stack: AsyncDisposableStack): Promise<string> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true });
    return resolve(given);
  }
  const folder = await mkdtemp(join(tmpdir(), 'observe-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Reports whether each target answers, after its first scrape. */
async function reportTargets(url: string, jobs: readonly ScrapeJob[], signal: AbortSignal): Promise<void> {
  const wanted = jobs.flatMap(({ targets }) => targets).length;
  for (let tries = 0; tries < 30 && !signal.aborted; tries++) {
    await sleep(1_000, undefined, { signal }).catch(() => undefined);
    const answer = await fetch(`${url}/api/v1/targets?state=active`, { signal: AbortSignal.timeout(5_000) });
    const { activeTargets } = targetsSchema.parse(await answer.json()).data;
    if (activeTargets.length < wanted || activeTargets.some(({ health }) => health === 'unknown')) continue;
    for (const { labels, health, lastError } of activeTargets) {
      const remedy = lastError === '' ? '' : `: ${lastError}. Is it running? --targets needs its ADMIN_PORT`;
      print(`${labels.job} at ${labels.instance} is ${health}${remedy}`);
    }
    return;
  }
}

/** Debian builds Prometheus without its newer pages. */
async function pagesOf(url: string): Promise<string> {
  const answer = await fetch(`${url}/alerts`, { signal: AbortSignal.timeout(5_000) });
  return answer.ok ? url : `${url}/classic`;
}

function welcome(url: string, pages: string): string {
  return `
  Prometheus              ${pages}/graph
  Alerts and objectives   ${pages}/alerts, ${pages}/rules

  In your own Grafana, add ${url} as a data source of the type Prometheus, then import the files of
  deploy/observability/grafana (Dashboards › New › Import). From the command line:

    curl --user admin:admin http://localhost:3000/api/datasources --json '{"name":"Prometheus","type":"prometheus","access":"proxy","url":"${url}"}'
    for file in deploy/observability/grafana/*.json; do
      jq '{dashboard: ., overwrite: true}' "$file" | curl --user admin:admin http://localhost:3000/api/dashboards/db --json @-
    done

  Press Ctrl-C to stop it.

`;
}

function print(text: string): void {
  process.stderr.write(`observe | ${text}\n`);
}
