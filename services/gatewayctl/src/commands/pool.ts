import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Environment } from '@gateway/config';
import { affinityKey } from '@gateway/edge-router/endpoints/affinity';
import {
  type Account,
  AccountState,
  AttemptResult,
  type Cooldown,
  type QuotaWindow,
} from '@gateway/proto/pool/v1/account_pb.js';
import {
  type AccountExplanation,
  type QuotaForecast,
  QuotaOutlook,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { Command } from 'commander';
import { type ControlPlane, callOptions, openControlPlane } from '../control-plane.ts';
import { type Columns, durationText, enumWord, formatRecords, jsonLine, print, timeText } from '../output.ts';

/** `gatewayctl pool …` */
export function poolCommand(env: Environment): Command {
  const pool = new Command('pool').description(
    'See how pools of accounts stand. With stand-alone services GATEWAY_ADMIN_URL is the pool broker.',
  );
  pool
    .command('status')
    .description(
      'Accounts with their state, what keeps them, requests under way, quotas; and when a pool will be used up if it goes on as it did since its quotas began.',
    )
    .argument('[pool]', 'only this pool')
    .option('--json', 'as JSON, one pool a line')
    .action(async (name: string | undefined, flags: StatusFlags) => {
      await using plane = await openControlPlane(env);
      await poolStatus(plane.broker, name, flags, Date.now());
    });
  pool
    .command('explain')
    .description('Which account would serve the next request for a model or class, and why not the others.')
    .argument('<model>', 'a class such as gateway/sterk, or the id of a model')
    .option('--session <name>', "of a client's session, as in its header session-id; needs --token")
    .option('--token <id>', "the session's token")
    .action(async (model: string, { session, token }: { readonly session?: string; readonly token?: string }) => {
      if ((session === undefined) !== (token === undefined)) throw new Error('--session and --token go together.');
      const key =
        session === undefined || token === undefined ? '' : affinityKey(token, { 'session-id': session }, undefined);
      await using plane = await openControlPlane(env);
      await explainPool(plane.broker, model, key);
    });
  return pool;
}

/** Prints which account would serve the next request for a model, and why not the others. */
async function explainPool(broker: ControlPlane['broker'], model: string, affinityKey: string): Promise<void> {
  const { candidates } = await broker.explain({ model, affinityKey }, callOptions);
  if (candidates.length === 0) throw new Error(`there is no model or class ${model}`);
  const chosen = candidates.flatMap(({ accounts }) => accounts).find((account) => account.chosen)?.account;
  const texts = candidates.map(({ pool, model: id, accounts }, index) => {
    const table = accounts.length === 0 ? 'no accounts\n' : formatRecords(explanationColumns, accounts);
    return `${index + 1}. ${id} of ${pool}\n${table}`;
  });
  const verdict = chosen === undefined ? 'No account would take a request now.' : `${chosen.id} would take it.`;
  print(`${texts.join('\n')}\n${verdict}\n`);
}

const explanationColumns: Columns<AccountExplanation> = {
  account: ({ account }) => account?.name ?? '',
  state: ({ account }) => enumWord(AccountState, account?.state ?? AccountState.UNSPECIFIED),
  'in flight': ({ account }) => String(account?.inFlight ?? 0),
  verdict: ({ chosen, reason }) => (chosen ? 'would be taken' : reason),
};

interface StatusFlags {
  readonly json?: boolean;
}

/** Prints how accounts stand, and how long pools will last. @param pool Undefined: all. */
export async function poolStatus(
  broker: Pick<ControlPlane['broker'], 'listAccounts'>,
  pool: string | undefined,
  { json = false }: StatusFlags,
  nowMs: number,
): Promise<void> {
  const { accounts, forecasts } = await broker.listAccounts({ pool: pool ?? '' }, callOptions);
  if (pool !== undefined && accounts.length === 0) throw new Error(`there is no pool ${pool}, or no account in it`);
  const states = [...Map.groupBy(accounts, (account) => account.pool)]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, ofPool]) => toPoolState(name, ofPool, forecasts));
  const texts = states.map((state) => (json ? jsonLine(poolFields(state)) : poolText(state, nowMs)));
  print(texts.join(json ? '' : '\n'));
}

type PoolState = ReturnType<typeof toPoolState>;

function toPoolState(pool: string, accounts: readonly Account[], forecasts: readonly QuotaForecast[]) {
  const ofPool = forecasts.filter((forecast) => forecast.pool === pool);
  const outOfService = [AccountState.DISABLED, AccountState.DRAINING];
  const inService = accounts.filter(({ state }) => !outOfService.includes(state));
  return {
    pool,
    accounts,
    /** Of the quotas of whole accounts. */
    forecast: ofPool.find(({ models }) => models === ''),
    /** Of the quotas of single families of models. */
    families: ofPool.filter(({ models }) => models !== ''),
    /** Accounts in service that have reported no quota: there is more in the pool than the estimates know. */
    silentAccounts: inService.filter(({ windows }) => windows.length === 0).length,
  };
}

/** What is left of the tightest quota of the whole account, 0 to 1. Undefined when none is known. */
function headroomOf({ windows }: Account): number | undefined {
  const left = windows.filter(({ models }) => models === '').map(({ usedFraction }) => Math.max(0, 1 - usedFraction));
  return left.length === 0 ? undefined : Math.min(...left);
}

function poolText(state: PoolState, nowMs: number): string {
  const { pool, accounts, forecast, families } = state;
  const available = accounts.filter((account) => account.state === AccountState.AVAILABLE).length;
  const lines = [
    `pool ${pool}: ${available} of ${accounts.length} accounts available`,
    `  quotas: ${forecastText(forecast, state, nowMs)}`,
    ...families.map((ofFamily) => `  ${ofFamily.models}: ${forecastText(ofFamily, state, nowMs)}`),
  ];
  return `${lines.join('\n')}\n${formatRecords(columnsAt(nowMs), accounts)}`;
}

function forecastText(forecast: QuotaForecast | undefined, { silentAccounts }: PoolState, nowMs: number): string {
  if (forecast?.outlook === QuotaOutlook.LASTS) return 'they last at the present rate';
  if (forecast?.endsAt === undefined) {
    return 'how long they last is not known: no account has reported a quota with a length and an end';
  }
  const { window } = forecast;
  const atMs = timestampMs(forecast.endsAt);
  const silent =
    silentAccounts === 1
      ? '1 more account has not reported its own'
      : `${silentAccounts} more accounts have not reported theirs`;
  const besides = silentAccounts === 0 ? '' : `; ${silent}`;
  if (window === '') return `no account can be used now${besides}`;
  if (atMs <= nowMs) return `the ${window} windows are used up now${besides}`;
  const when = `${new Date(atMs).toISOString()} (in ${durationText(atMs - nowMs)})`;
  return `the ${window} windows are used up at ${when} at the present rate${besides}`;
}

function columnsAt(nowMs: number): Columns<Account> {
  return {
    account: ({ name }) => name,
    state: ({ state }) => enumWord(AccountState, state),
    'in flight': ({ inFlight, maxInFlight }) => (maxInFlight === 0 ? `${inFlight}` : `${inFlight}/${maxInFlight}`),
    headroom: (account) => {
      const headroom = headroomOf(account);
      return headroom === undefined ? '–' : percent(headroom);
    },
    'quotas used': ({ windows }) => windows.map((window) => quotaText(window, nowMs)).join('; '),
    reason: ({ cooldowns, note }) => {
      const running = cooldowns.filter(({ until }) => until === undefined || timestampMs(until) > nowMs);
      return [...running.map(cooldownText), ...(note === '' ? [] : [note])].join('; ');
    },
  };
}

function quotaText({ name, models, usedFraction, resetsAt }: QuotaWindow, nowMs: number): string {
  const of = models === '' ? '' : ` of ${models}`;
  const reset = resetsAt === undefined ? '' : `, anew in ${durationText(Math.max(0, timestampMs(resetsAt) - nowMs))}`;
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
function poolFields({ accounts, forecast, families, ...pool }: PoolState) {
  return {
    ...pool,
    exhaustion: forecastFields(forecast),
    families: families.map((family) => ({ models: family.models, ...forecastFields(family) })),
    accounts: accounts.map(accountFields),
  };
}

/** `at` is absent unless the estimate has a time. */
function forecastFields(forecast: QuotaForecast | undefined) {
  if (forecast?.outlook === QuotaOutlook.LASTS) return { estimate: 'never' };
  if (forecast?.endsAt === undefined) return { estimate: 'unknown' };
  return { estimate: 'at', at: timeText(forecast.endsAt), window: forecast.window };
}

function accountFields(account: Account) {
  return {
    account: account.name,
    state: enumWord(AccountState, account.state),
    inFlight: account.inFlight,
    maxInFlight: account.maxInFlight === 0 ? null : account.maxInFlight,
    headroom: headroomOf(account) ?? null,
    windows: account.windows.map(({ name, models, usedFraction, resetsAt, lengthSeconds }) => ({
      name,
      models,
      usedFraction,
      resetsAt: timeText(resetsAt) || null,
      lengthSeconds: lengthSeconds || null,
    })),
    cooldowns: account.cooldowns.map(({ until, model, reason, givenByProvider }) => ({
      models: model,
      until: timeText(until) || null,
      reason: enumWord(AttemptResult, reason),
      givenByProvider,
    })),
    note: account.note,
  };
}
