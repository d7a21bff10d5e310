import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Account, AccountState, type Cooldown, type QuotaWindow } from '@gateway/proto/pool/v1/account_pb.js';
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
  const byPool = Map.groupBy(accounts, ({ pool }) => pool);
  return [...byPool]
    .map(([pool, ofPool]) => toPoolState(pool, ofPool, nowMs))
    .sort((one, other) => (one.pool < other.pool ? -1 : 1));
}

function toPoolState(pool: string, accounts: readonly Account[], nowMs: number): PoolState {
  const standings = accounts.map(toStanding);
  const inService = standings.filter(({ account }) => isInService(account));
  const quotas = inService.map(toQuotas);
  const families = new Set(inService.flatMap((standing) => standing.quotas.map(({ models }) => models)));
  families.delete('');
  return {
    pool,
    accounts: standings,
    exhaustion: exhaustionOf(quotas, '', nowMs),
    families: [...families].sort().map((models) => ({ models, exhaustion: exhaustionOf(quotas, models, nowMs) })),
    silentAccounts: inService.filter((standing) => standing.quotas.length === 0).length,
  };
}

function toStanding(account: Account): AccountStanding {
  const quotas = account.windows.map(toQuotaUse);
  const left = quotas.filter(({ models }) => models === '').map(({ usedFraction }) => Math.max(0, 1 - usedFraction));
  return { account, quotas, headroom: left.length === 0 ? undefined : Math.min(...left) };
}

function toQuotaUse({ name, models, usedFraction, resetsAt, lengthSeconds }: QuotaWindow): QuotaUse {
  return {
    name,
    models,
    usedFraction,
    resetsAtMs: resetsAt === undefined ? undefined : timestampMs(resetsAt),
    lengthMs: lengthSeconds === 0 ? undefined : lengthSeconds * 1_000,
  };
}

/** Disabled and draining accounts take nothing, however much they have left. */
function isInService({ state }: Account): boolean {
  return state !== AccountState.DISABLED && state !== AccountState.DRAINING;
}

function toQuotas({ account, quotas }: AccountStanding): AccountQuotas {
  const ends = account.cooldowns
    .filter(isOfWholeAccount)
    .map(({ until }) => (until === undefined ? 0 : timestampMs(until)));
  return { usableFromMs: Math.max(0, ...ends), quotas };
}

function isOfWholeAccount({ model }: Cooldown): boolean {
  return model === '';
}
