import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { RecordedRequest, Simulator } from '@gateway/simulator';
import { localDayOf } from '@gateway/time';
import { fromUsageMessage } from '@gateway/usage-stream/usage-message';
import { ledgerRowsOf } from '../faults/audit/read-outboxes.ts';
import type { CountAt, Evidence, GroupState, LedgerRow, Note, Trouble } from './checkers/evidence.ts';
import type { ClientRequest, ClientToken } from './clients/client.ts';
import { limitsOf, type Operator, type TokenGroup } from './clients/operator.ts';
import type { Cluster } from './gateway/cluster.ts';
import { simulatedPools } from './gateway/simulated-pools.ts';
import type { StreamMessage } from './stores/jet-stream.ts';

export interface Witnesses {
  readonly cluster: Cluster;
  readonly providers: Simulator;
  readonly requests: readonly ClientRequest[];
  readonly operator: Operator;
  readonly unreportedLeases: readonly string[];
  readonly groupStates: readonly GroupState[];
  readonly staleTokens: readonly CountAt[];
  readonly sizesAtStart: ReadonlyMap<string, number>;
  readonly notes: readonly Note[];
  readonly troubles: readonly Trouble[];
  readonly clocksOffByMs: number;
}

/** Reads everything that the checkers need, from every place that keeps something. */
export async function collectEvidence(witnesses: Witnesses): Promise<Evidence> {
  const { cluster, providers, requests } = witnesses;
  const localDay = localDayOf(cluster.world.nowMs);
  return {
    requests,
    attempts: attemptsByMarker(providers.requests()),
    rows: await rowsOf(cluster),
    dailyTokens: await dailyTokensOf(cluster),
    dailyCosts: await dailyCostsOf(cluster),
    localDay,
    counterTokens: await countersOf(cluster, witnesses.operator.tokens, localDay),
    unreportedLeases: witnesses.unreportedLeases,
    reportsGivenUp: await cluster.total(['gateway_edge_attempt_reports_given_up_total']),
    staleTokens: witnesses.staleTokens,
    endedTexts: witnesses.operator.ended,
    limitChanges: witnesses.operator.limitChanges,
    groups: witnesses.operator.groups,
    groupStates: witnesses.groupStates,
    fileChanges: cluster.gatewayFile.changes,
    sizesAtStart: witnesses.sizesAtStart,
    sizes: await sizesOf(cluster),
    notes: witnesses.notes,
    troubles: witnesses.troubles,
    clocksOffByMs: witnesses.clocksOffByMs,
    lostAloneAtMs: cluster.lostAloneAtMs,
    leases: await leasesOf(cluster),
    activeRequests: await gaugesOf(cluster, 'http_server_active_requests'),
    undelivered: new Map([
      ...(await gaugesOf(cluster, 'gateway_edge_outbox_backlog_events')),
      ['nats-1', cluster.backends.stream.pending],
    ]),
    mayBeLost: new Map([...cluster.backends.disks.unsynced, ...tokensIn(cluster.backends.stream.lost)]),
    memoryLosses: cluster.backends.disks.memoryLosses,
    settledTwice: cluster.backends.redis.settledTwice,
    redisLosses: cluster.backends.redis.losses,
    uncaught: cluster.world.uncaught.map(({ who, thrown }) => `${who}: ${describe(thrown)}`),
  };
}

/** What the limiter's store has of groups. */
export async function statesOf(cluster: Cluster, groups: readonly TokenGroup[]): Promise<readonly GroupState[]> {
  const { limits } = cluster.backends.redis;
  const states = groups.map(async ({ groupId, ...plan }) => {
    const reading = { key: `group:${groupId}`, requestId: '', costKind: CostKind.REQUEST_AND_TOKENS };
    const { status } = await limits.admit({ ...reading, limits: limitsOf(plan) });
    const { spentMicros = 0, reservedMicros = 0 } = status?.budget ?? {};
    const running = status?.concurrency?.running ?? 0;
    return { groupId, running, spentMicros: Number(spentMicros), reservedMicros: Number(reservedMicros) };
  });
  return Promise.all(states);
}

/** Notes every second, from now on, what counters of all processes have counted together. */
export function watchCounters(cluster: Cluster, names: readonly string[], label?: string): readonly CountAt[] {
  const { world } = cluster;
  const counts: CountAt[] = [];
  const look = async () => {
    world.plan(1_000, look);
    counts.push({ atMs: world.nowMs, count: await cluster.total(names, label) });
  };
  void look();
  return counts;
}

/** Notes every second, from now on, what cannot be seen at the end. */
export function takeNotes(cluster: Cluster, tokens: readonly ClientToken[]): readonly Note[] {
  const { world } = cluster;
  const notes: Note[] = [];
  let [wasAnyAway, couldCompare, wereBrokersUp] = [false, true, true];
  const look = () => {
    world.plan(lookEveryMs, look);
    wasAnyAway ||= cluster.isAnyAway;
    couldCompare &&= cluster.canCompare;
    wereBrokersUp &&= cluster.areBrokersUp;
  };
  const note = async () => {
    world.plan(1_000, note);
    const localDay = localDayOf(world.nowMs);
    const noted = { atMs: world.nowMs, wasAnyAway, couldCompare, wereBrokersUp, localDay };
    [wasAnyAway, couldCompare, wereBrokersUp] = [false, true, true];
    const edges = await cluster.total(['gateway_edge_local_admissions_total']);
    notes.push({ ...noted, edges, counterTokens: await countersOf(cluster, tokens, localDay) });
  };
  look();
  void note();
  return notes;
}

const lookEveryMs = 100;

/** Gauges that are no sizes. The outbox's file stays as large as it was, and is used again. */
const notSizes =
  /outbox_(?:backlog_bytes|disk_\w+)$|^gateway_account_(?:state|headroom|exhaustion)|_(?:ratio|paused)$|timestamp|config/;

/** What the gauges of all processes say, over their labels. They grow with unfinished work. */
export async function sizesOf(cluster: Cluster): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>();
  for (const process of cluster.names) {
    for (const { name, type, values } of (await cluster.metricsOf(process)?.registry.getMetricsAsJSON()) ?? []) {
      if (String(type) !== 'gauge' || notSizes.test(name)) continue;
      sizes.set(
        `${process} ${name}`,
        values.reduce((sum, { value }) => sum + value, 0),
      );
    }
  }
  return sizes;
}

function tokensIn(messages: readonly StreamMessage[]): readonly (readonly [string, number])[] {
  const rows = messages.flatMap(({ data }) => fromUsageMessage(data)).flatMap(ledgerRowsOf);
  return rows.map(({ requestId, tokens }) => [requestId, tokens]);
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}

function attemptsByMarker(recorded: readonly RecordedRequest[]): ReadonlyMap<string, readonly RecordedRequest[]> {
  const markerOf = ({ body }: RecordedRequest) => /marker-client-\d+-\d+/.exec(Buffer.from(body).toString())?.[0] ?? '';
  return Map.groupBy(recorded, markerOf);
}

async function rowsOf({ backends: { database } }: Cluster): Promise<readonly LedgerRow[]> {
  const rows = await database.selectFrom('usage_events').selectAll().execute();
  return rows.map((row) => ({
    requestId: row.request_id,
    tokenId: row.token_id,
    groupId: row.group_id,
    localDay: row.local_day,
    model: row.model,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    cacheWrite5mTokens: row.cache_write_5m_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    costMicros: row.cost_micros,
    outputTokens: row.output_tokens,
    estimated: row.estimated === 1,
    outcome: row.outcome,
  }));
}

async function dailyTokensOf({ backends: { database } }: Cluster): Promise<ReadonlyMap<string, number>> {
  const sums = await database
    .selectFrom('usage_daily')
    .select(({ fn }) => [
      'token_id',
      fn.sum<number>('input_tokens').as('input'),
      fn.sum<number>('output_tokens').as('output'),
    ])
    .groupBy('token_id')
    .execute();
  return new Map(sums.map(({ token_id, input, output }) => [token_id, Number(input) + Number(output)]));
}

async function dailyCostsOf({ backends: { database } }: Cluster): Promise<ReadonlyMap<string, number>> {
  const sums = await database
    .selectFrom('usage_daily')
    .select(({ fn }) => ['token_id', fn.sum<number>('cost_micros').as('micros')])
    .groupBy('token_id')
    .execute();
  return new Map(sums.map(({ token_id, micros }) => [token_id, Number(micros)]));
}

async function countersOf(
  cluster: Cluster,
  tokens: readonly ClientToken[],
  localDay: string,
): Promise<ReadonlyMap<string, number>> {
  const counters = new Map<string, number>();
  for (const { tokenId } of tokens) {
    // A settle without tokens changes nothing.
    const nothing = { requestId: '', localDay, tokens: 0, hasLedger: true };
    const { usedTokens, isLoaded } = await cluster.backends.redis.limits.settle({
      key: `token:${tokenId}`,
      ...nothing,
    });
    if (isLoaded) counters.set(tokenId, usedTokens);
  }
  return counters;
}

async function leasesOf({ backends: { redis } }: Cluster): Promise<ReadonlyMap<string, number>> {
  const { accounts, settings } = simulatedPools();
  const ids = accounts.map(({ pool, name }) => `${pool}/${name}`);
  const records = await redis.pools.readAccounts(ids, settings.leaseTtlMs);
  return new Map(records.map(({ inFlight }, index) => [ids[index] ?? '', inFlight]));
}

/** The value of a gauge of each edge, over all its labels. */
async function gaugesOf(cluster: Cluster, name: string): Promise<ReadonlyMap<string, number>> {
  const gauges = new Map<string, number>();
  for (const edge of cluster.namesOf('edge')) {
    const metrics = (await cluster.metricsOf(edge)?.snapshot()) ?? [];
    const values = metrics.find((metric) => metric.name === name)?.values ?? [];
    gauges.set(
      edge,
      values.reduce((sum, { value }) => sum + value, 0),
    );
  }
  return gauges;
}
