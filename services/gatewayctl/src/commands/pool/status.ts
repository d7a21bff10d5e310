import { timestampMs } from '@bufbuild/protobuf/wkt';
import { AccountState, AttemptResult, type Cooldown } from '@gateway/proto/pool/v1/account_pb.js';
import type { Clock } from '@gateway/time';
import { type ControlPlane, callOptions } from '../../control-plane/control-plane.ts';
import { type Columns, formatRecords, jsonLine } from '../../output/table.ts';
import type { Terminal } from '../../output/terminal.ts';
import { durationText, enumWord, timeText } from '../../output/words.ts';
import type { Exhaustion, QuotaUse } from './exhaustion.ts';
import { type AccountStanding, type PoolState, poolStates } from './pool-state.ts';

/** Prints how accounts stand, and how long pools will last. @param pool Undefined: all. */
export async function poolStatus(
  { broker }: { readonly broker: Pick<ControlPlane['broker'], 'listAccounts'> },
  pool: string | undefined,
  { json = false }: { readonly json?: boolean },
  { terminal, clock }: { readonly terminal: Terminal; readonly clock: Clock },
): Promise<void> {
  const { accounts } = await broker.listAccounts({ pool: pool ?? '' }, callOptions);
  if (pool !== undefined && accounts.length === 0) throw new Error(`there is no pool ${pool}, or no account in it`);
  const nowMs = clock.nowMs();
  const states = poolStates(accounts, nowMs);
  const texts = states.map((state) => (json ? jsonLine(poolFields(state)) : poolText(state, nowMs)));
  await terminal.print(texts.join(json ? '' : '\n'));
}

function poolText(state: PoolState, nowMs: number): string {
  const { pool, accounts, exhaustion, families } = state;
  const available = accounts.filter(({ account }) => account.state === AccountState.AVAILABLE).length;
  const lines = [
    `pool ${pool}: ${available} of ${accounts.length} accounts available`,
    `  quotas: ${exhaustionText(exhaustion, state, nowMs)}`,
    ...families.map(({ models, exhaustion: ofFamily }) => `  ${models}: ${exhaustionText(ofFamily, state, nowMs)}`),
  ];
  return `${lines.join('\n')}\n${formatRecords(columnsAt(nowMs), accounts)}`;
}

function exhaustionText(exhaustion: Exhaustion, { silentAccounts }: PoolState, nowMs: number): string {
  if (exhaustion.kind === 'never') return 'they last at the present rate';
  if (exhaustion.kind === 'unknown')
    return 'how long they last is not known: no account has reported a quota with a length and an end';
  const { atMs, window } = exhaustion;
  const silent =
    silentAccounts === 1
      ? '; 1 more account has not reported its own'
      : `; ${silentAccounts} more accounts have not reported theirs`;
  const besides = silentAccounts === 0 ? '' : silent;
  if (window === '') return `no account can be used now${besides}`;
  if (atMs <= nowMs) return `the ${window} windows are used up now${besides}`;
  const when = `${new Date(atMs).toISOString()} (in ${durationText(atMs - nowMs)})`;
  return `the ${window} windows are used up at ${when} at the present rate${besides}`;
}

function columnsAt(nowMs: number): Columns<AccountStanding> {
  return {
    account: ({ account }) => account.name,
    state: ({ account }) => enumWord(AccountState, account.state),
    'in flight': ({ account: { inFlight, maxInFlight } }) =>
      maxInFlight === 0 ? String(inFlight) : `${inFlight}/${maxInFlight}`,
    headroom: ({ headroom }) => (headroom === undefined ? '–' : percent(headroom)),
    'quotas used': ({ quotas }) => quotas.map((quota) => quotaText(quota, nowMs)).join('; '),
    reason: ({ account: { cooldowns, note } }) => {
      const running = cooldowns.filter(({ until }) => until === undefined || timestampMs(until) > nowMs);
      return [...running.map(cooldownText), ...(note === '' ? [] : [note])].join('; ');
    },
  };
}

function quotaText({ name, models, usedFraction, resetsAtMs }: QuotaUse, nowMs: number): string {
  const of = models === '' ? '' : ` of ${models}`;
  const reset = resetsAtMs === undefined ? '' : `, anew in ${durationText(Math.max(0, resetsAtMs - nowMs))}`;
  return `${name}${of} ${percent(usedFraction)}${reset}`;
}

function cooldownText({ until, model, reason, givenByProvider }: Cooldown): string {
  const scope = model === '' ? 'cools' : `cools for ${model}`;
  const end = until === undefined ? 'until further notice' : `until ${timeText(until)}`;
  return `${scope} ${end} after ${enumWord(AttemptResult, reason)}${givenByProvider ? ', as the provider said' : ''}`;
}

function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

/** A pool for programs. */
function poolFields({ accounts, exhaustion, families, ...pool }: PoolState) {
  return {
    ...pool,
    exhaustion: exhaustionFields(exhaustion),
    families: families.map((family) => ({ models: family.models, ...exhaustionFields(family.exhaustion) })),
    accounts: accounts.map(accountFields),
  };
}

/** `at` is absent unless the estimate has a time. */
function exhaustionFields(exhaustion: Exhaustion) {
  if (exhaustion.kind !== 'at') return { estimate: exhaustion.kind };
  return { estimate: 'at', at: new Date(exhaustion.atMs).toISOString(), window: exhaustion.window };
}

function accountFields({ account, quotas, headroom }: AccountStanding) {
  return {
    account: account.name,
    state: enumWord(AccountState, account.state),
    inFlight: account.inFlight,
    maxInFlight: account.maxInFlight === 0 ? null : account.maxInFlight,
    headroom: headroom ?? null,
    windows: quotas.map(({ resetsAtMs, lengthMs, ...quota }) => ({
      ...quota,
      resetsAt: resetsAtMs === undefined ? null : new Date(resetsAtMs).toISOString(),
      lengthSeconds: lengthMs === undefined ? null : lengthMs / 1_000,
    })),
    cooldowns: account.cooldowns.map(({ until, model, reason, givenByProvider }) => ({
      models: model,
      until: until === undefined ? null : timeText(until),
      reason: enumWord(AttemptResult, reason),
      givenByProvider,
    })),
    note: account.note,
  };
}
