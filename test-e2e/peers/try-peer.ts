import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  allChecks,
  type Check,
  heldTo,
  type ProviderDouble,
  type Result,
  runChecks,
  startProviderDouble,
  type Target,
} from '@gateway/conformance';
import { freePort } from '@gateway/testkit';
import type { Peer } from './peer.ts';

export interface TriedPeer {
  /** In the order of the list of checks. */
  readonly results: readonly Result[];
  readonly targets: readonly Target[];
  readonly port: number;
  readonly providerPort: number;
}

/**
 * Starts a peer with a provider double of its own, runs the checks that it claims, and ends both.
 */
export async function tryPeer(
  peer: Peer,
  installed: string,
  onResult: (result: Result) => void,
  signal: AbortSignal,
): Promise<TriedPeer> {
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'conformance-peer-'));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const double = stack.use(await startProviderDouble());
  const providerPort = Number(new URL(double.url).port);
  const port = await freePort();
  const { targets } = stack.use(await peer.start({ installed, home, port, providerPort }));
  const results: Result[] = [];
  for (const { target, checks } of sharedOut(peer, targets)) {
    for await (const result of tried(peer, target, double, checks, signal)) {
      results.push(result);
      onResult(result);
    }
  }
  return { results: results.toSorted(inOrder), targets, port, providerPort };
}

const inOrder = (one: Result, other: Result) => allChecks.indexOf(one.check) - allChecks.indexOf(other.check);

/**
 * Each check runs on the first target that it fits; a check with two accounts needs a target with
 * two.
 */
function sharedOut({ levels }: Peer, targets: readonly Target[]) {
  const fitting = targets.map((target) => ({ target, fits: new Set(heldTo({ target, checks: allChecks, levels })) }));
  const fewerFirst = fitting.toSorted((one, other) => accountsOf(one.target) - accountsOf(other.target));
  const chosenFor = (check: Check) => {
    const candidates = fewerFirst.filter(({ fits }) => fits.has(check));
    return check.needs?.includes('second-account') ? candidates.at(-1) : candidates[0];
  };
  return fitting.map((one) => ({ target: one.target, checks: allChecks.filter((check) => chosenFor(check) === one) }));
}

const accountsOf = ({ hasSecondAccount }: Target) => (hasSecondAccount ? 2 : 1);

async function* tried(
  { keepsOtherwise = {} }: Peer,
  target: Target,
  double: ProviderDouble,
  checks: readonly Check[],
  signal: AbortSignal,
): AsyncIterable<Result> {
  for (const check of checks) {
    const why = keepsOtherwise[check.name];
    if (why !== undefined) yield { check, outcome: { kind: 'skipped', why }, milliseconds: 0 };
  }
  const held = checks.filter(({ name }) => keepsOtherwise[name] === undefined);
  yield* runChecks({ target, double, checks: held, signal });
}
