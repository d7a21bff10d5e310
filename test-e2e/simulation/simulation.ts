import './world/platform.ts';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useTimeSource } from '@gateway/time/simulated';
import { type BrokenPromise, brokenPromises } from './checkers/checkers.ts';
import { type ClientRequest, type ClientToken, runClient } from './clients/client.ts';
import { Operator } from './clients/operator.ts';
import { startProviders } from './clients/providers.ts';
import { collectEvidence, sizesOf, statesOf, takeNotes, watchCounters } from './evidence-of.ts';
import { arrangeFault, type Fault, type FaultKind, planFaults, troubleBy } from './faults.ts';
import { Cluster, type Replicas } from './gateway/cluster.ts';
import { accountSecrets } from './gateway/simulated-pools.ts';
import { Network } from './world/network.ts';
import { simulateOn } from './world/platform.ts';
import { timeSourceOf } from './world/time-source.ts';
import { World, WorldProcess } from './world/world.ts';

export interface SimulationOptions {
  readonly seed: string;
  /** How long clients send requests. */
  readonly durationMs: number;
  readonly kinds: readonly FaultKind[];
  /** The numbers of the faults that happen. Default: the whole plan. */
  readonly only?: readonly number[] | undefined;
}

export interface SimulationResult {
  readonly broken: readonly BrokenPromise[];
  /** Everything that happened, a line each. */
  readonly story: readonly string[];
  /** The digest of the story, with the number of events. */
  readonly digest: string;
  readonly faults: readonly Fault[];
  readonly requests: readonly ClientRequest[];
  readonly simulatedMs: number;
  readonly events: number;
}

const replicas: Replicas = {
  redis: 1,
  nats: 1,
  identity: 1,
  'usage-ingest': 2,
  'usage-query': 1,
  limiter: 2,
  'pool-broker': 2,
  'responses-adapter': 1,
  'messages-adapter': 1,
  edge: 2,
};

/** Time for everything to start, and to come to rest: longer than any lease and time-out. */
const startsWithinMs = 5_000;
const quietMs = 240_000;
/** For how long clients continue when all faults have ended: the gateway must answer them again. */
const recoveryMs = 45_000;
/** When every request has ended, and no lease has expired yet. */
const restMs = 100_000;

/** Runs a whole gateway on simulated time, once in a process. */
export async function simulate({ seed, durationMs, kinds, only }: SimulationOptions): Promise<SimulationResult> {
  const world = new World(seed);
  const network = new Network(world);
  using _source = useTimeSource(timeSourceOf(world));
  simulateOn(network);
  const folder = mkdtempSync(join(tmpdir(), 'simulation-'));
  // Many processes of the world listen to the signals of this one.
  process.setMaxListeners(0);
  process.on('unhandledRejection', (reason) => world.fault('a promise', reason));
  process.on('uncaughtException', (thrown) => world.fault('a callback', thrown));
  const story: string[] = [];
  const tell = (who: string, what: string) => story.push(`${(world.elapsedMs / 1_000).toFixed(3)} ${who}: ${what}`);
  try {
    const providers = await startProviders(world);
    const cluster = new Cluster(network, replicas, folder);
    await cluster.start();
    await world.runUntil(startsWithinMs);
    const operator = new Operator(network);
    await operator.issueTokens(kinds.includes('group'));
    const sizesAtStart = await sizesOf(cluster);
    const notes = takeNotes(cluster, operator.tokens);
    const staleTokens = watchCounters(cluster, ['gateway_edge_faults_total'], 'identity');
    const requests: ClientRequest[] = [];
    const stop = new AbortController();
    startClients({
      network,
      tokens: operator.tokens,
      requests,
      edges: cluster.namesOf('edge'),
      signal: stop.signal,
      tell,
    });
    const processes = cluster.names;
    const plan = planFaults({ chance: world.seeded.of('faults'), kinds, durationMs, everyMs: 8_000, processes });
    const faults = plan.filter(({ number }) => only?.includes(number) ?? true);
    for (const fault of faults) arrangeFault(fault, { cluster, providers, operator, tell });
    await world.runUntil(startsWithinMs + durationMs);
    tell('world', 'faults end');
    providers.faults.clear();
    cluster.repair();
    const stopsAtMs = startsWithinMs + durationMs + (faults.length > 0 ? recoveryMs : 0);
    await world.runUntil(stopsAtMs);
    tell('world', 'clients stop');
    stop.abort();
    await world.runUntil(stopsAtMs + restMs);
    const unreportedLeases = cluster.backends.redis.leases.unreported();
    const groupStates = await statesOf(cluster, operator.groups);
    await world.runUntil(stopsAtMs + quietMs);
    const jumpsMs = faults.filter(({ kind }) => kind === 'clock').map(({ amountMs }) => Math.abs(amountMs));
    const clocksOffByMs = Math.max(0, ...jumpsMs);
    const startMs = world.startMs + startsWithinMs;
    const troubles = faults.map((fault) => troubleBy(fault, startMs)).filter((trouble) => trouble !== undefined);
    const watched = { notes, troubles, clocksOffByMs, staleTokens, sizesAtStart, unreportedLeases, groupStates };
    const evidence = await collectEvidence({ cluster, providers, requests, operator, ...watched });
    const broken = brokenPromises(evidence);
    const { events, elapsedMs: simulatedMs } = world;
    const digest = hash('sha256', [...story, events].join('\n')).slice(0, 16);
    return { broken, story, digest, faults, requests, simulatedMs, events };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Traffic {
  readonly network: Network;
  readonly tokens: readonly ClientToken[];
  readonly requests: ClientRequest[];
  readonly edges: readonly string[];
  readonly signal: AbortSignal;
  readonly tell: (who: string, what: string) => void;
}

const unknownToken: ClientToken = { tokenId: '', text: '', requestsPerMinute: 0, clients: 0 };

function startClients({ network, tokens, requests, edges, signal, tell }: Traffic): void {
  const { world } = network;
  const plans = tokens.flatMap(({ clients }, plan) => Array.from({ length: clients }, () => plan));
  for (const [index, plan] of plans.entries()) {
    const name = `client-${index + 1}`;
    const client = new WorldProcess(name);
    const chance = world.seeded.of(name);
    const onEnded = ({ marker, kind, edge, status, view, sentAtMs, headAtMs, requestId }: ClientRequest) => {
      const tookMs = Math.round(world.nowMs - sentAtMs);
      const headMs = headAtMs === undefined ? '' : ` head after ${Math.round(headAtMs - sentAtMs)} ms,`;
      tell(
        name,
        `${marker} ${kind.path} ${edge} ${requestId}: ${status ?? 'no status'}, ${view},${headMs} ${tookMs} ms`,
      );
    };
    const onRequest = (request: ClientRequest) => void requests.push(request);
    const token = () => tokens[plan] ?? unknownToken;
    const secrets = () => [...accountSecrets, ...tokens.map(({ text }) => text)];
    const behaviour = { obeys: index % 3 !== 2, pauseMs: 3_000, chance, edges };
    client.run(() => {
      void runClient(network, { name, token, secrets, ...behaviour, onRequest, onEnded }, signal).catch(
        (thrown: unknown) => world.fault(name, thrown),
      );
    });
  }
}
