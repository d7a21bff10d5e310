import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';
import { issueToken } from '../client/tokens.ts';
import { type ReplicatedServices, startReplicatedServices } from '../topologies/replicated-services.ts';
import { compareTotals, type TokenTotals, tokensPerDay } from './audit/compare-totals.ts';
import { describeRequest, findTraces } from './audit/describe-request.ts';
import { type Judgement, judgeRequests } from './audit/judge-requests.ts';
import { conservationReport, injectedLine } from './audit/report.ts';
import { type Quiet, waitForQuiet } from './audit/wait-for-quiet.ts';
import type { Effects, FaultScene, Injection } from './injections/injection.ts';
import { LedgerTap } from './injections/ledger-tap.ts';
import { carryOut, type Injected } from './injections/schedule.ts';
import { UsageStreamTap } from './injections/usage-stream-tap.ts';
import { Load, type LoadClient } from './load/clients.ts';
import { RandomNumbers } from './random-numbers.ts';

export interface CampaignOptions {
  readonly seed: number;
  readonly injections: (random: RandomNumbers) => readonly Injection[];
  readonly clients: number;
  /** The average pause between two requests of a client. */
  readonly clientPauseMs: number;
  /** The average pause between two injections. */
  readonly pauseMs: number;
  readonly quietTimeoutMs: number;
}

/** The results at the end. */
export interface CampaignResult {
  readonly injected: readonly Injected[];
  readonly judgement: Judgement;
  readonly quiet: Quiet;
  readonly totals: readonly TokenTotals[];
  readonly effects: Effects;
  readonly deadLetters: number;
  /** Services that ended by themselves. */
  readonly unexpectedEnds: readonly string[];
  /** Descriptions of all failed requests. */
  readonly descriptions: readonly string[];
}

/** Runs load, injections, a quiet time, and the audit. Prints events as they happen. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const random = new RandomNumbers(options.seed);
  await using gateway = await startReplicatedServices({
    replicas: { 'edge-router': 2, 'usage-ingest': 2, limiter: 2 },
    eventDelayMs: 15,
    env: quickSettings,
  });
  const ledger = new LedgerTap(gateway.postgres.url);
  await ledger.buildCommitGate();
  await using stream = await UsageStreamTap.open(gateway.nats.url);
  const clients = await issueTokens(gateway, options.clients);
  const load = new Load({
    clients,
    edges: gateway.replicas['edge-router'].map(({ publicUrl }) => publicUrl ?? ''),
    random: new RandomNumbers(options.seed + 1),
    pauseMs: options.clientPauseMs,
  });
  const effects: Effects = { poisons: 0, repeated: 0, committedAfterDeath: 0, wiped: new Map() };
  const field: FaultScene = { gateway, stream, ledger, load, random, effects };
  say(`conservation: seed ${options.seed}, ${clients.length} clients`);
  await waitForSomethingToLose(field);
  const injected = await carryOut(options.injections(random), field, {
    pauseMs: options.pauseMs,
    onInjected: (each) => say(injectedLine(each)),
  });
  await waitForAnswers(load);
  await load.stop();
  return await audit(field, clients, injected, options);
}

/** Recovery takes only seconds here, so that the test need not wait for it. */
const quickSettings = {
  LIMITER_RECONCILE_SECONDS: '1',
  // The ledger must recognise repetitions, not the stream.
  USAGE_STREAM_DUPLICATE_WINDOW_SECONDS: '1',
};

/** Before the first injection there is usage in the stream, and requests are under way. */
async function waitForSomethingToLose({ stream, load }: FaultScene): Promise<void> {
  await until('the stream holds usage', async () => (await stream.state()).messages >= fewestMessages);
  await until('requests are under way', () => load.underWay > 0);
}

const fewestMessages = 20;

/** After the last injection requests succeed again. */
async function waitForAnswers(load: Load): Promise<void> {
  const repairedMs = Date.now();
  const answered = () => load.requests.filter(({ startedMs, view }) => startedMs > repairedMs && view === 'whole');
  await until('requests succeed again', () => answered().length >= fewestAnswers);
}

const fewestAnswers = 50;

async function until(condition: string, isMet: () => boolean | Promise<boolean>): Promise<void> {
  for (const giveUpAtMs = Date.now() + roomMs(60_000); !(await isMet()); await sleep(50)) {
    if (Date.now() > giveUpAtMs) throw new Error(`timed out before ${condition}`);
  }
}

async function issueTokens(gateway: ReplicatedServices, count: number): Promise<readonly LoadClient[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index): Promise<LoadClient> => {
      if (index % 4 === 3) return { kind: 'personal', token: await issueToken(gateway, { kind: 'personal' }) };
      return { kind: 'service', token: await issueToken(gateway, { requestsPerMinute: 100_000, tokensPerDay }) };
    }),
  );
}

async function audit(
  field: FaultScene,
  clients: readonly LoadClient[],
  injected: readonly Injected[],
  { seed, quietTimeoutMs }: CampaignOptions,
): Promise<CampaignResult> {
  const { ledger, load, gateway, effects } = field;
  // From here on no token is used: counters of idle tokens also reach the ledger's totals.
  const quiet = await waitForQuiet(field, quietTimeoutMs);
  const totals = await compareTotals(field, clients, roomMs(10_000));
  const judgement = judgeRequests({
    requests: load.requests,
    recorded: gateway.simulator.requests(),
    rows: await ledger.rows(),
    wiped: [...effects.wiped.values()],
  });
  say(conservationReport(judgement, { injected, seed }));
  say(`\nquiet after ${quiet.afterMs} ms`);
  const descriptions = await descriptionsOf(judgement, field);
  for (const description of descriptions) say(description);
  const deadLetters = await ledger.deadLetters();
  return {
    injected,
    judgement,
    quiet,
    totals,
    effects,
    deadLetters,
    descriptions,
    unexpectedEnds: [...gateway.unexpectedEnds],
  };
}

const mostStories = 40;

async function descriptionsOf({ requests, unknownRows }: Judgement, field: FaultScene): Promise<readonly string[]> {
  const suspects = requests.filter(
    ({ verdict, request }) =>
      verdict === 'lost' || verdict === 'doubled' || verdict === 'wrong' || request.problem !== undefined,
  );
  if (suspects.length + unknownRows.length === 0) return [];
  const traces = await findTraces(field);
  return [
    ...suspects.map((suspect) => describeRequest(suspect, traces)),
    ...unknownRows.map((row) => `unknown: ${JSON.stringify(row)}`),
  ].slice(0, mostStories);
}

/** Vitest's own output comes only at the end, and a test that hangs would print nothing. */
function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
