import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { summaryOf } from '@gateway/conformance';
import { install, ownVersion, usualCacheFolder } from './install.ts';
import { conformancePage } from './page.ts';
import type { Peer } from './peer.ts';
import { leftOut, peers } from './peers.ts';
import { type PeersReport, peersReport, type SystemReport } from './report.ts';
import { systemReport } from './system-report.ts';
import { tryPeer } from './try-peer.ts';

// Checks this gateway and its peers with the same rules, and writes docs/reference/conformance.md:
// see README.md.

const usage = `npm run conformance:peers -- [options]
  --peer <name[@version]>  only this peer, or another version of it. Repeatable. Prints the result and does not change the page
  --cache <folder>         where npm installs the peers (${usualCacheFolder()})
  --page-only              only writes the page, from conformance.json
`;

const folder = join(import.meta.dirname, '../../docs/reference');
const resultsFile = join(folder, 'conformance.json');
const peerTimeoutMs = 8 * 60_000;

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => interrupted.abort(new Error('interrupted')));
}

try {
  const { values } = parseArgs({
    options: {
      peer: { type: 'string', multiple: true },
      cache: { type: 'string', default: usualCacheFolder() },
      'page-only': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else if (values['page-only']) await writePage(peersReport.parse(JSON.parse(await readFile(resultsFile, 'utf8'))));
  else await tryAll(values.peer?.map(chosen) ?? peers, values.cache, values.peer === undefined);
} catch (thrown) {
  process.stderr.write(`conformance:peers: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = interrupted.signal.aborted ? 130 : 1;
}

async function tryAll(those: readonly Peer[], cache: string, isForThePage: boolean): Promise<void> {
  await mkdir(cache, { recursive: true });
  const systems: SystemReport[] = [];
  for (const peer of those) systems.push(await tryOne(peer, cache));
  if (!isForThePage) return;
  const date = new Date().toISOString().slice(0, 10);
  const report = {
    date,
    command: 'npm run conformance:peers',
    node: process.versions.node,
    systems,
    leftOut: [...leftOut],
  };
  await writeFile(resultsFile, `${JSON.stringify(report, undefined, 2)}\n`);
  await writePage(report);
}

async function tryOne(peer: Peer, cache: string): Promise<SystemReport> {
  const version = peer.install?.version ?? (await ownVersion());
  const installed = peer.install === undefined ? '' : await install(peer.install, cache);
  const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(peerTimeoutMs)]);
  const tried = await tryPeer(
    peer,
    installed,
    ({ check, outcome }) => {
      if (outcome.kind === 'broken') process.stdout.write(`  ${check.name}: ${outcome.found.slice(0, 160)}\n`);
    },
    signal,
  );
  process.stdout.write(`${peer.name} ${version}\n`);
  for (const { endpoint, level, kept, broken, skipped } of summaryOf(tried.results)) {
    process.stdout.write(`  ${endpoint} ${level}: ${kept} kept, ${broken} broken, ${skipped} skipped\n`);
  }
  return systemReport(peer, version, tried);
}

async function writePage(report: PeersReport): Promise<void> {
  await writeFile(join(folder, 'conformance.md'), conformancePage(report));
}

/** @throws Error if there is none of that name. */
function chosen(text: string): Peer {
  const [name = '', version] = text.split('@');
  const peer = peers.find((one) => one.name === name);
  if (peer === undefined)
    throw new Error(`there is no peer ${name}; there are ${peers.map((one) => one.name).join(', ')}`);
  if (version === undefined) return peer;
  if (peer.install === undefined) throw new Error(`${name} is this repository: it has no other version`);
  return { ...peer, install: { ...peer.install, version } };
}
