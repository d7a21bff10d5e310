import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Account, AccountState } from '@gateway/proto/pool/v1/account_pb.js';
import { type AccountQuotas, type Exhaustion, exhaustionOf, type QuotaUse } from './exhaustion.ts';

/** A pool as it stands, and how long it will last. */
export interface PoolState {
  readonly pool: string;
  readonly accounts: readonly AccountStanding[];
  /** Of the quotas of whole accounts. */
  readonly exhaustion: Exhaustion;
  /** Of the quotas of single families of models. */
  readonly families: readonly { readonly models: string; readonly exhaustion: Exhaustion }[];
  /** Accounts in service that have reported no quota: there is more in the pool than the estimates know. */
  readonly silentAccounts: number;
}

export interface AccountStanding {
  readonly account: Account;
  readonly quotas: readonly QuotaUse[];
  /** What is left of the tightest quota of the whole account, 0 to 1. Undefined when none is known. */
  readonly headroom: number | undefined;
}

/** The pools of some accounts, by name. */
export function poolStates(accounts: readonly Account[], nowMs: number): readonly PoolState[] {
  const byPool = [...Map.groupBy(accounts, ({ pool }) => pool)];
  return byPool
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([pool, ofPool]) => toPoolState(pool, ofPool.map(toStanding), nowMs));
}

function toPoolState(pool: string, accounts: readonly AccountStanding[], nowMs: number): PoolState {
  // Disabled and draining accounts take nothing, however much they have left.
  const inService = accounts.filter(
    ({ account: { state } }) => state !== AccountState.DISABLED && state !== AccountState.DRAINING,
  );
  const quotas = inService.map(toQuotas);
  const families = new Set(inService.flatMap((standing) => standing.quotas.map(({ models }) => models)));
  families.delete('');
  return {
    pool,
    accounts,
    exhaustion: exhaustionOf(quotas, '', nowMs),
    families: [...families].sort().map((models) => ({ models, exhaustion: exhaustionOf(quotas, models, nowMs) })),
    silentAccounts: inService.filter((standing) => standing.quotas.length === 0).length,
  };
}

function toStanding(account: Account): AccountStanding {
  const quotas = account.windows.map(({ name, models, usedFraction, resetsAt, lengthSeconds }) => ({
    name,
    models,
    usedFraction,
    resetsAtMs: resetsAt === undefined ? undefined : timestampMs(resetsAt),
    lengthMs: lengthSeconds === 0 ? undefined : lengthSeconds * 1_000,
  }));
  const left = quotas.filter(({ models }) => models === '').map(({ usedFraction }) => Math.max(0, 1 - usedFraction));
  return { account, quotas, headroom: left.length === 0 ? undefined : Math.min(...left) };
}

/** Only cooldowns of the whole account keep it. */
function toQuotas({ account, quotas }: AccountStanding): AccountQuotas {
  const ends = account.cooldowns
    .filter(({ model }) => model === '')
    .map(({ until }) => (until ? timestampMs(until) : 0));
  return { usableFromMs: Math.max(0, ...ends), quotas };
}
