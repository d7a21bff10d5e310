import type { ServiceRuntime } from '@gateway/lifecycle';
import type { Metrics } from '@gateway/telemetry';
import { isRunning, type SeenWindow } from './health/account-health.ts';
import {
  type AccountStateName,
  type AccountView,
  accountStates,
  headroomOf,
  leftOf,
  stateOf,
  windowsAt,
} from './health/eligibility.ts';
import { exhaustionOf, isInService } from './health/quota-forecasts.ts';
import type { Broker } from './selection/broker.ts';
import { readAccounts } from './selection/read-candidates.ts';

/**
 * Shows the state of pools and accounts. It is read only when metrics are exposed, never while a
 * request is handled. All replicas show the same values for the state that they share.
 */
export function showAccounts(broker: Broker, { logger, metrics }: ServiceRuntime): void {
  const gauges = accountGauges(metrics);
  let reading: Promise<void> | undefined;
  metrics.beforeSnapshot(() => {
    reading ??= show()
      .catch((thrown: unknown) => logger.warn({ err: thrown }, 'account metrics could not be updated'))
      .finally(() => {
        reading = undefined;
      });
    return reading;
  });

  async function show(): Promise<void> {
    const accounts = await readAllAccounts(broker);
    const ofPools = Map.groupBy(accounts, ({ view }) => view.account.pool);
    const pools: ShownPool[] = [];
    for (const { name } of broker.configuration.gateway.pools) {
      pools.push(await readPool(broker, name, ofPools.get(name) ?? []));
    }
    // Set in one synchronous block, so that no other reader sees half of them.
    for (const gauge of Object.values(gauges)) gauge.reset();
    for (const account of accounts) showAccount(gauges, account);
    for (const pool of pools) showPool(gauges, pool);
  }
}

type Gauges = ReturnType<typeof accountGauges>;

function accountGauges(metrics: Metrics) {
  return {
    state: metrics.gauge({
      name: 'gateway_account_state',
      help: '1 for the current state of an account: available, cooling, probing, disabled, draining. `use` is the state that operators set: active, draining, disabled.',
      labels: ['pool', 'account', 'state', 'use'],
    }),
    inFlight: metrics.gauge({
      name: 'gateway_account_in_flight',
      help: 'Requests in flight on an account, from all replicas.',
      labels: ['pool', 'account'],
    }),
    headroom: metrics.gauge({
      name: 'gateway_account_headroom_ratio',
      help: 'Remaining share of a quota of an account, as last reported. Absent while unknown.',
      labels: ['pool', 'account', 'window'],
    }),
    exhaustion: metrics.gauge({
      name: 'gateway_account_exhaustion_seconds',
      help: 'Time until the first quota of an account runs out at the current rate; 0 while the account is unavailable. Absent without a forecast.',
      labels: ['pool', 'account'],
    }),
    poolAccounts: metrics.gauge({
      name: 'gateway_pool_accounts',
      help: 'Accounts of a pool, by state.',
      labels: ['pool', 'state'],
    }),
    poolHeadroom: metrics.gauge({
      name: 'gateway_pool_headroom_ratio',
      help: 'Mean remaining share of the tightest quota of each account in service. Absent while unknown.',
      labels: ['pool'],
    }),
    poolExhaustion: metrics.gauge({
      name: 'gateway_pool_exhaustion_seconds',
      help: 'Time until the quotas of a pool run out at the current rate; 0 while no account is available. Absent without a forecast.',
      labels: ['pool'],
    }),
    paused: metrics.gauge({
      name: 'gateway_pool_paused',
      help: '1 while a pool, or one of its models, is paused because its provider fails, else 0.',
      labels: ['pool'],
    }),
  };
}

interface ShownAccount {
  readonly view: AccountView;
  readonly state: AccountStateName;
  readonly windows: readonly SeenWindow[];
  readonly secondsLeft: number | undefined;
}

/** Reads in parts, so that requests run in between, both in Redis and in this process. */
async function readAllAccounts(broker: Broker): Promise<readonly ShownAccount[]> {
  const { configuration, store } = broker;
  const { settings: rules, accounts } = configuration;
  const shown: ShownAccount[] = [];
  for (let at = 0, { all } = accounts; at < all.length; at += sliceSize) {
    const views = await readAccounts(broker, all.slice(at, at + sliceSize));
    const nowMs = store.nowMs();
    for (const view of views) {
      const state = stateOf(view, { nowMs, rules });
      shown.push({ view, state, windows: windowsAt(view.health, nowMs), secondsLeft: secondsLeftOf([view], nowMs) });
    }
  }
  return shown;
}

const sliceSize = 100;

/** How long the quotas of accounts in service will last. Undefined while no end is foreseeable. */
function secondsLeftOf(views: readonly AccountView[], nowMs: number): number | undefined {
  const serving = views.filter(isInService).map(({ health }) => health);
  const exhaustion = exhaustionOf(serving, '', nowMs);
  return 'endsAtMs' in exhaustion ? Math.max(0, exhaustion.endsAtMs - nowMs) / 1_000 : undefined;
}

interface ShownPool {
  readonly pool: string;
  readonly isPaused: boolean;
  readonly states: readonly AccountStateName[];
  readonly secondsLeft: number | undefined;
  /** The remainder of the tightest quota, for each account in service that has reported one. */
  readonly headrooms: readonly number[];
}

async function readPool({ store }: Broker, pool: string, accounts: readonly ShownAccount[]): Promise<ShownPool> {
  const { incidents } = await store.readPool(pool);
  const nowMs = store.nowMs();
  const views = accounts.map(({ view }) => view);
  const known = views.filter((view) => isInService(view) && windowsAt(view.health, nowMs, '').length > 0);
  return {
    pool,
    isPaused: incidents.some(({ pause }) => pause !== undefined && isRunning(pause, nowMs)),
    states: accounts.map(({ state }) => state),
    secondsLeft: secondsLeftOf(views, nowMs),
    headrooms: known.map(({ health }) => headroomOf(health, '', nowMs)),
  };
}

function showAccount(gauges: Gauges, { view, state, windows, secondsLeft }: ShownAccount): void {
  const { pool, name: account, use } = view.account;
  gauges.state.set({ pool, account, state, use }, 1);
  gauges.inFlight.set({ pool, account }, view.inFlight);
  if (secondsLeft !== undefined) gauges.exhaustion.set({ pool, account }, secondsLeft);
  // Several models may have quotas of the same name.
  for (const [window, sameName] of Map.groupBy(windows, ({ name }) => name)) {
    gauges.headroom.set({ pool, account, window }, Math.min(...sameName.map(leftOf)));
  }
}

function showPool(gauges: Gauges, { pool, isPaused, states, secondsLeft, headrooms }: ShownPool): void {
  gauges.paused.set({ pool }, isPaused ? 1 : 0);
  for (const state of accountStates) {
    gauges.poolAccounts.set({ pool, state }, states.filter((one) => one === state).length);
  }
  if (secondsLeft !== undefined) gauges.poolExhaustion.set({ pool }, secondsLeft);
  const sum = headrooms.reduce((one, other) => one + other, 0);
  if (headrooms.length > 0) gauges.poolHeadroom.set({ pool }, sum / headrooms.length);
}
