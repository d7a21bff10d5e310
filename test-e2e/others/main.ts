import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { issueToken } from '../client/tokens.ts';
import { install, usualCacheFolder } from '../peers/install.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import type { Topology } from '../topologies/topology.ts';
import { othersPage } from './page.ts';
import { pythonEnvironment, pythonVersion } from './python-environment.ts';
import { type OthersReport, othersReport, reportOn, type Suite, type SuiteReport } from './suite.ts';
import { leftOut, suites } from './suites.ts';

// Runs suites that others wrote against this gateway, and writes
// docs/reference/conformance-others.md: see README.md.

const usage = `npm run conformance:others -- [options]
  --suite <name>    only this suite. Repeatable. Does not change the page
  --cache <folder>  where npm and pip install the suites (${usualCacheFolder('others')})
  --page-only       only writes the page, from conformance-others.json
`;

const folder = join(import.meta.dirname, '../../docs/reference');
const resultsFile = join(folder, 'conformance-others.json');
const suiteTimeoutMs = 8 * 60_000;

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => interrupted.abort(new Error('interrupted')));
}

try {
  const { values } = parseArgs({
    options: {
      suite: { type: 'string', multiple: true },
      cache: { type: 'string', default: usualCacheFolder('others') },
      'page-only': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else if (values['page-only']) await writePage(othersReport.parse(JSON.parse(await readFile(resultsFile, 'utf8'))));
  else await runAll(values.cache, values.suite);
} catch (thrown) {
  process.stderr.write(`conformance:others: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = interrupted.signal.aborted ? 130 : 1;
}

async function runAll(cache: string, names: readonly string[] | undefined): Promise<void> {
  await using gateway = await startAllInOne('others');
  const reports: SuiteReport[] = [];
  for (const suite of names === undefined ? suites : names.map(named)) {
    const report = reportOn(suite, await runOne(suite, cache, gateway));
    print(report);
    reports.push(report);
  }
  if (reports.some(({ failed }) => failed.length > 0)) process.exitCode = 1;
  if (names !== undefined) return;
  const date = new Date().toISOString().slice(0, 10);
  const report = { date, node: process.versions.node, python: await pythonVersion(), suites: reports, leftOut };
  await writeFile(resultsFile, `${JSON.stringify(report, undefined, 2)}\n`);
  await writePage(report);
}

async function runOne(suite: Suite, cache: string, gateway: Topology) {
  const installed = await installationOf(suite, cache);
  const { text: token } = await issueToken(gateway, { kind: 'personal' });
  const home = await mkdtemp(join(tmpdir(), 'gateway-others-'));
  try {
    const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(suiteTimeoutMs)]);
    return await suite.run({ installed, home, url: gateway.baseUrl, token, signal });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function installationOf({ from, packages }: Suite, cache: string): Promise<string> {
  if (from === 'PyPI') return pythonEnvironment(packages, cache);
  const [[name, version] = ['', '']] = Object.entries(packages);
  return install({ package: name, version }, cache);
}

function print({ name, kept, skipped, failed }: SuiteReport): void {
  const explained = skipped.flatMap(({ checks }) => checks).length;
  process.stdout.write(`${name}: ${kept} kept, ${explained} explained, ${failed.length} failed\n`);
  for (const { check, found } of failed) process.stdout.write(`  ${check}: ${found}\n`);
}

async function writePage(report: OthersReport): Promise<void> {
  await writeFile(join(folder, 'conformance-others.md'), othersPage(report));
}

/** @throws Error if there is none of that name. */
function named(name: string): Suite {
  const suite = suites.find((one) => one.name === name);
  if (suite === undefined)
    throw new Error(`there is no suite ${name}; there are ${suites.map((one) => one.name).join(', ')}`);
  return suite;
}
