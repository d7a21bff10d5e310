import { timestampDate, timestampMs } from '@bufbuild/protobuf/wkt';
import { AccountState, AttemptResult, type Cooldown } from '@gateway/proto/pool/v1/account_pb.js';
import type { Clock } from '@gateway/time';
import { type ControlPlane, callOptions } from '../../control-plane/control-plane.ts';
import { durationText } from '../../output/duration-text.ts';
import { enumWord } from '../../output/enum-word.ts';
import { formatTable } from '../../output/table.ts';
import type { Terminal } from '../../output/terminal.ts';
import type { Exhaustion, QuotaUse } from './exhaustion.ts';
import { type AccountStanding, type PoolState, poolStates } from './pool-state.ts';
import { poolJson } from './status-json.ts';

export interface StatusFlags {
  readonly json?: boolean;
}

type AccountLister = Pick<ControlPlane['broker'], 'listAccounts'>;

/** Prints how accounts stand, and how long pools will last. @param pool Undefined: all. */
export async function poolStatus(
  { broker }: { readonly broker: AccountLister },
  pool: string | undefined,
  flags: StatusFlags,
  { terminal, clock }: { readonly terminal: Terminal; readonly clock: Clock },
): Promise<void> {
  const { accounts } = await broker.listAccounts({ pool: pool ?? '' }, callOptions);
  if (pool !== undefined && accounts.length === 0) throw new Error(`there is no pool ${pool}, or no account in it`);
  const nowMs = clock.nowMs();
  const states = poolStates(accounts, nowMs);
  await terminal.print(
    states.map((state) => (flags.json ? poolJson(state) : poolText(state, nowMs))).join(flags.json ? '' : '\n'),
  );
}

function poolText(state: PoolState, nowMs: number): string {
  const { pool, accounts, exhaustion, families } = state;
  const available = accounts.filter(({ account }) => account.state === AccountState.AVAILABLE).length;
  const lines = [
    `pool ${pool}: ${available} of ${accounts.length} accounts available`,
    `  quotas: ${exhaustionText(exhaustion, state, nowMs)}`,
    ...families.map(({ models, exhaustion: ofFamily }) => `  ${models}: ${exhaustionText(ofFamily, state, nowMs)}`),
  ];
  const table = formatTable(
    ['account', 'state', 'in flight', 'headroom', 'quotas used', 'reason'],
    accounts.map((standing) => toRow(standing, nowMs)),
  );
  return `${lines.join('\n')}\n${table}`;
}

function exhaustionText(exhaustion: Exhaustion, { silentAccounts }: PoolState, nowMs: number): string {
  switch (exhaustion.kind) {
    case 'unknown':
      return 'how long they last is not known: no account has reported a quota with a length and an end';
    case 'never':
      return 'they last at the present rate';
    case 'at': {
      const { atMs, window } = exhaustion;
      const besides = silentAccounts === 0 ? '' : `; ${silentText(silentAccounts)}`;
      if (window === '') return `no account can be used now${besides}`;
      if (atMs <= nowMs) return `the ${window} windows are used up now${besides}`;
      const when = `${new Date(atMs).toISOString()} (in ${durationText(atMs - nowMs)})`;
      return `the ${window} windows are used up at ${when} at the present rate${besides}`;
    }
    default:
      return exhaustion satisfies never;
  }
}

function silentText(accounts: number): string {
  return accounts === 1
    ? '1 more account has not reported its own'
    : `${accounts} more accounts have not reported theirs`;
}

function toRow({ account, quotas, headroom }: AccountStanding, nowMs: number): readonly string[] {
  const { name, state, inFlight, maxInFlight, cooldowns, note } = account;
  return [
    name,
    enumWord(AccountState, state),
    maxInFlight === 0 ? String(inFlight) : `${inFlight}/${maxInFlight}`,
    headroom === undefined ? '–' : percent(headroom),
    quotas.map((quota) => quotaText(quota, nowMs)).join('; '),
    [...cooldowns.filter(isRunning(nowMs)).map(cooldownText), ...(note === '' ? [] : [note])].join('; '),
  ];
}

function quotaText({ name, models, usedFraction, resetsAtMs }: QuotaUse, nowMs: number): string {
  const of = models === '' ? '' : ` of ${models}`;
  const reset = resetsAtMs === undefined ? '' : `, anew in ${durationText(Math.max(0, resetsAtMs - nowMs))}`;
  return `${name}${of} ${percent(usedFraction)}${reset}`;
}

function cooldownText({ until, model, reason, givenByProvider }: Cooldown): string {
  const scope = model === '' ? 'cools' : `cools for ${model}`;
  const end = until === undefined ? 'until further notice' : `until ${timestampDate(until).toISOString()}`;
  return `${scope} ${end} after ${enumWord(AttemptResult, reason)}${givenByProvider ? ', as the provider said' : ''}`;
}

function isRunning(nowMs: number): (cooldown: Cooldown) => boolean {
  return ({ until }) => until === undefined || timestampMs(until) > nowMs;
}

function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}
