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
import { filesOf } from './repository.ts';
import { type OthersReport, othersReport, type Place, reportOn, type Suite, type SuiteReport } from './suite.ts';
import { leftOut, suites } from './suites.ts';

// Runs suites that others wrote against this gateway, and writes
// docs/reference/conformance-others.md: see README.md.

const usage = `npm run conformance:others -- [options]
  --suite <name>    only this suite. Repeatable. Does not change the page
  --update          with --suite: changes the page's results of these suites
  --cache <folder>  where npm, pip and git put the suites (${usualCacheFolder('others')})
  --repository <owner/name=address>
                    another copy of a repository, such as a clone on this machine. Repeatable
  --page-only       only writes the page, from conformance-others.json
`;

const folder = join(import.meta.dirname, '../../docs/reference');
const resultsFile = join(folder, 'conformance-others.json');
/** The end-to-end tests take two minutes on a usual machine. */
const suiteTimeoutMs = 20 * 60_000;

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => interrupted.abort(new Error('interrupted')));
}

try {
  const { values } = parseArgs({
    options: {
      suite: { type: 'string', multiple: true },
      cache: { type: 'string', default: usualCacheFolder('others') },
      update: { type: 'boolean', default: false },
      repository: { type: 'string', multiple: true, default: [] },
      'page-only': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else if (values['page-only']) await writePage(othersReport.parse(JSON.parse(await readFile(resultsFile, 'utf8'))));
  else
    await runAll(
      { cache: values.cache, copies: copiesIn(values.repository) },
      { names: values.suite, isUpdate: values.update },
    );
} catch (thrown) {
  process.stderr.write(`conformance:others: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = interrupted.signal.aborted ? 130 : 1;
}

/** Where packages and repositories are, or come from. */
interface Sources {
  readonly cache: string;
  /** Copies of repositories, by their names. */
  readonly copies: ReadonlyMap<string, string>;
}

type Installation = Pick<Place, 'installed' | 'repository'>;

async function runAll(
  sources: Sources,
  { names, isUpdate }: { readonly names: readonly string[] | undefined; readonly isUpdate: boolean },
): Promise<void> {
  await using gateway = await startAllInOne('others');
  const reports: SuiteReport[] = [];
  for (const suite of names === undefined ? suites : names.map(named)) {
    const report = reportOn(suite, await runOne(suite, sources, gateway));
    print(report);
    reports.push(report);
  }
  if (reports.some(({ failed }) => failed.length > 0)) process.exitCode = 1;
  if (names !== undefined && !isUpdate) return;
  const [earlier, date] = [await earlierReports(), new Date().toISOString().slice(0, 10)];
  const all = suites.flatMap(({ name }) => [...reports, ...earlier].find((report) => report.name === name) ?? []);
  const report = { date, node: process.versions.node, python: await pythonVersion(), suites: all, leftOut };
  await writeFile(resultsFile, `${JSON.stringify(report, undefined, 2)}\n`);
  await writePage(report);
}

async function earlierReports(): Promise<readonly SuiteReport[]> {
  return othersReport.parse(JSON.parse(await readFile(resultsFile, 'utf8'))).suites;
}

async function runOne(suite: Suite, sources: Sources, gateway: Topology) {
  const installation = await installationOf(suite, sources);
  const { text: token } = await issueToken(gateway, { kind: 'personal' });
  const home = await mkdtemp(join(tmpdir(), 'gateway-others-'));
  try {
    const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(suiteTimeoutMs)]);
    return await suite.run({ ...installation, home, url: gateway.baseUrl, token, signal });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function installationOf({ from, packages }: Suite, { cache, copies }: Sources): Promise<Installation> {
  if (from === 'PyPI') return { installed: await pythonEnvironment(packages, cache) };
  const [own = ['', ''], dependency = own] = Object.entries(packages);
  const [name, version] = dependency;
  const installed = await install({ package: name, version }, cache);
  if (from === 'npm') return { installed };
  const [repository, commit] = own;
  return { installed, repository: await filesOf({ repository, commit }, cache, copies.get(repository)) };
}

function print({ name, kept, skipped, failed }: SuiteReport): void {
  const explained = skipped.flatMap(({ checks }) => checks).length;
  process.stdout.write(`${name}: ${kept} kept, ${explained} explained, ${failed.length} failed\n`);
  for (const { check, found } of failed) process.stdout.write(`  ${check}: ${found}\n`);
}

async function writePage(report: OthersReport): Promise<void> {
  await writeFile(join(folder, 'conformance-others.md'), othersPage(report));
}

/** Each is the name of a repository and the address of its copy. */
function copiesIn(parameters: readonly string[]): Sources['copies'] {
  return new Map(
    parameters.map((parameter) => {
      const [name = '', address] = parameter.split('=', 2);
      if (address === undefined) throw new Error(`--repository ${parameter} has no address`);
      return [name, address];
    }),
  );
}

/** @throws Error if there is none of that name. */
function named(name: string): Suite {
  const suite = suites.find((one) => one.name === name);
  if (suite === undefined)
    throw new Error(`there is no suite ${name}; there are ${suites.map((one) => one.name).join(', ')}`);
  return suite;
}
