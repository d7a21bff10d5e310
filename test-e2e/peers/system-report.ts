import { type Outcome, type Result, summaryOf, type Target } from '@gateway/conformance';
import type { Peer } from './peer.ts';
import type { SystemReport } from './report.ts';
import type { TriedPeer } from './try-peer.ts';

/** The results of one peer for readers. */
export function systemReport(peer: Peer, version: string, tried: TriedPeer): SystemReport {
  const { results } = tried;
  return {
    name: peer.name,
    package: peer.install?.package ?? null,
    version,
    setUp: [...peer.setUp],
    claims: Object.entries(peer.claims).map(([endpoint, documentation]) => ({ endpoint, documentation })),
    startCommand: peer.startCommand,
    conformanceCommands: tried.targets.map((target) => commandOf(peer, target, tried)),
    rows: summaryOf(results).map((row) => ({ ...row })),
    broken: ofKind(results, 'broken').map(({ check: { name, rule, source }, outcome: { found } }) => ({
      check: name,
      rule,
      source,
      found: short(found),
    })),
    skipped: [...Map.groupBy(ofKind(results, 'skipped'), ({ outcome }) => outcome.why)].map(([why, ofReason]) => ({
      why,
      checks: ofReason.map(({ check }) => check.name),
    })),
  };
}

type Kind = Outcome['kind'];
type ResultOf<K extends Kind> = Result & { readonly outcome: Extract<Outcome, { readonly kind: K }> };

function ofKind<K extends Kind>(results: readonly Result[], kind: K): readonly ResultOf<K>[] {
  return results.filter((result): result is ResultOf<K> => result.outcome.kind === kind);
}

/** A program's own error text contains paths of the machine. */
function short(found: string): string {
  const text = found.replaceAll(/[^\s"'(]*\/node_modules\//g, '…/node_modules/').replaceAll(/\s+/g, ' ');
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
}

const mostCharacters = 160;

/** The port of the double in commands. */
const usualProviderPort = 9101;

function commandOf(peer: Peer, target: Target, { port, providerPort }: TriedPeer): string {
  const usualPort = new URL(peer.usualUrl).port;
  const usual = (text: string) =>
    text.replaceAll(String(providerPort), String(usualProviderPort)).replaceAll(String(port), usualPort);
  const isOurs = peer.install === undefined;
  const models = Object.entries(target.models).filter(([, model]) => model !== '');
  const only = target.hasSecondAccount && !isOurs;
  return [
    `npx gateway-conformance --url ${peer.usualUrl} --provider-port ${usualProviderPort}`,
    isOurs ? '--token "$TOKEN" --limited-token "$LIMITED_TOKEN" --limited-rpm 20' : `--token ${target.token}`,
    ...(target.hasSecondAccount ? ['--second-account'] : []),
    ...Object.entries(target.headers ?? {}).map(([name, value]) => `--header ${quoted(usual(`${name}=${value}`))}`),
    ...(isOurs ? [] : Object.keys(target.models).map((endpoint) => `--endpoint ${endpoint}`)),
    ...(isOurs ? [] : models.map(([endpoint, model]) => `--model ${endpoint}=${model}`)),
    ...(isOurs ? [] : (only ? ['operations'] : peer.levels).map((level) => `--level ${level}`)),
  ].join(' \\\n  ');
}

const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text}'`);
