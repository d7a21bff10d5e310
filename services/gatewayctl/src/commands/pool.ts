import { isFailing } from '@gateway/presentation/account-error-text';
import { pauseReason } from '@gateway/presentation/pool-pause-text';
import {
  type ExplainModelResponse,
  ExplainModelResponseSchema,
  type PoolOverview,
  PoolOverviewSchema,
  PoolService,
  type PoolStatus,
} from '@gateway/proto/admin/v1/pool_service_pb.js';
import {
  type Account,
  AccountState,
  AttemptResult,
  type Cooldown,
  type QuotaWindow,
} from '@gateway/proto/pool/v1/account_pb.js';
import {
  type AccountExplanation,
  type PoolPause,
  type QuotaForecast,
  QuotaOutlook,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { epochMs } from '@gateway/time';
import { Command } from 'commander';
import { endless } from '../connection/deadlines.ts';
import { notFoundToUndefined } from '../connection/not-found.ts';
import { UsageError } from '../failures.ts';
import { type OutputFlags, printMessage, printOverviews, withOutput } from '../output/print.ts';
import { type Columns, colored, Table } from '../output/table.ts';
import { countText, durationText, enumWord, percent, timeText, withNamedZone } from '../output/words.ts';
import { accountStateCell, lastErrorCell } from './account.ts';
import type { CommandContext } from './context.ts';
import { findTokenId } from './token.ts';

/** `gatewayctl pool …` */
export function poolCommand({ connect }: CommandContext): Command {
  const pool = new Command('pool').description('Shows the state of account pools.');
  withOutput(pool.command('status').alias('list'))
    .description(
      'Shows accounts with their state, its reason, requests in flight and quotas; and when the quotas of a pool run out at the current rate.',
    )
    .argument('[pool]', 'only this pool')
    .option('--watch', 'refresh on every change')
    .action(async (name = '', { watch, ...output }: OutputFlags & { readonly watch?: true }) => {
      await using admin = await connect(watch ? { running: true } : { reads: true });
      const pools = admin.clientOf(PoolService);
      const textOf = (overview: PoolOverview) => overviewText(overview, epochMs());
      if (watch) {
        const states = pools.watchPools({ pool: name }, endless);
        return await printOverviews(output, PoolOverviewSchema, states, async (overview) => textOf(overview));
      }
      const found = await pools.listPools({ pool: name }).catch(notFoundToUndefined);
      if (found === undefined || (name !== '' && found.overview?.pools.length === 0)) {
        throw new Error(`no pool ${name}. Run gatewayctl pool status to see all pools.`);
      }
      await printMessage(output, PoolOverviewSchema, found.overview, textOf);
    });
  withOutput(pool.command('explain'))
    .description('Shows which account would serve the next request for a model or class, and why not the others.')
    .argument('<model>', 'a class such as gateway/sterk, or a model id')
    .option('--session <name>', 'client session, as in the session-id header; needs --token')
    .option('--token <token>', 'token of the session: its id, the beginning of the id, or its label')
    .action(async (model: string, { session: sessionId = '', token, ...output }: ExplainFlags) => {
      if ((sessionId === '') !== (token === undefined))
        throw new UsageError('--session and --token must be used together.');
      await using admin = await connect({ reads: true });
      const tokenId = await findTokenId(admin, token);
      const explained = await admin.clientOf(PoolService).explainModel({ model, sessionId, tokenId });
      if (explained.candidates.length === 0)
        throw new Error(`no model or class ${model}. Run gatewayctl class list to see the classes.`);
      await printMessage(output, ExplainModelResponseSchema, explained, explanationText);
    });
  return pool;
}

interface ExplainFlags extends OutputFlags {
  readonly session?: string;
  readonly token?: string;
}

/** The account that would serve the next request for a model, and why the others would not. */
function explanationText({ candidates }: ExplainModelResponse): string {
  const chosen = candidates.flatMap(({ accounts }) => accounts).find((account) => account.chosen)?.account;
  const texts = candidates.map(({ pool, model, accounts }, index) => {
    const table = accounts.length === 0 ? 'no accounts\n' : new Table(explanationColumns).linesOf(accounts);
    return `${index + 1}. ${model} of ${pool}\n${table}`;
  });
  const verdict = chosen === undefined ? 'No account would serve a request now.' : `${chosen.id} would serve it.`;
  return `${texts.join('\n')}\n${verdict}\n`;
}

const explanationColumns: Columns<AccountExplanation> = {
  account: ({ account }) => account?.name ?? '',
  state: ({ account }) => accountStateCell(account ?? { state: AccountState.UNSPECIFIED }),
  'in flight': ({ account }) => account?.inFlight ?? 0,
  verdict: ({ chosen, reason, account }) => {
    const verdict = chosen ? 'selected' : withNamedZone(reason);
    const { lastError } = account ?? {};
    return joined([
      verdict,
      lastError === undefined || lastError.inARow === 0 ? '' : lastErrorCell(lastError, epochMs()),
    ]);
  },
};

/** Notes are sentences; in a list of texts they lose their full stops. */
function joined(texts: readonly string[]): string {
  const given = texts.filter((text) => text !== '');
  return given.length === 1 ? given.join() : given.map((text) => text.replace(/\.$/, '')).join('; ');
}

/** The state of accounts, and how long pools will last. */
function overviewText({ pools }: PoolOverview, nowMs: number): string {
  return pools.map((status) => poolText(status, nowMs)).join('\n') || 'No pools.\n';
}

function poolText({ pool, accounts, forecasts, pauses }: PoolStatus, nowMs: number): string {
  const available = accounts.filter((account) => account.state === AccountState.AVAILABLE).length;
  const failing = accounts.filter((account) => account.state === AccountState.AVAILABLE && isFailing(account)).length;
  const silent = silentAccounts(accounts);
  const families = forecasts.filter(({ models }) => models !== '');
  const whole = forecasts.find(({ models }) => models === '');
  const counted = `pool ${pool?.name}: ${available} of ${countText(accounts.length, 'account')} available`;
  const head = failing === 0 ? counted : `${counted}, ${failing} of these failing`;
  const lines = [
    available === failing && accounts.length > 0 ? colored(head, 'red') : head,
    ...pauses.map((pause) => colored(`  ${pauseText(pause)}`, 'red')),
    `  quotas: ${forecastText(whole, silent, nowMs)}`,
    ...families.map((family) => `  ${family.models}: ${forecastText(family, silent, nowMs)}`),
  ];
  return `${lines.join('\n')}\n${new Table(columnsAt(nowMs)).linesOf(accounts)}`;
}

/** "paused until 2026-11-26 15:51:00 UTC: the provider is overloaded" */
export function pauseText(pause: PoolPause): string {
  const end =
    pause.untilMs === undefined
      ? '; one request is testing whether the provider has recovered'
      : ` until ${timeText(pause.untilMs)}`;
  return `paused${end}: ${pauseReason(pause)}`;
}

/**
 * Accounts in service that have reported no quota: the pool has more than the estimates include.
 */
function silentAccounts(accounts: readonly Account[]): number {
  const outOfService = [AccountState.DISABLED, AccountState.DRAINING];
  return accounts.filter(({ state, windows }) => !outOfService.includes(state) && windows.length === 0).length;
}

/** The rest of the tightest quota of the whole account, 0 to 1. Undefined if none is known. */
function headroomOf({ windows }: Account): number | undefined {
  const left = windows.filter(({ models }) => models === '').map(({ usedFraction }) => Math.max(0, 1 - usedFraction));
  return left.length === 0 ? undefined : Math.min(...left);
}

function forecastText(forecast: QuotaForecast | undefined, silentAccounts: number, nowMs: number): string {
  if (forecast?.outlook === QuotaOutlook.LASTS) return 'do not run out at the current rate';
  if (forecast?.endsAtMs === undefined) {
    return 'no forecast: no account has reported a quota with a duration and a reset time';
  }
  const { window, endsAtMs } = forecast;
  const silent =
    silentAccounts === 1
      ? '1 account without a reported quota may last longer'
      : `${silentAccounts} accounts without a reported quota may last longer`;
  const besides = silentAccounts === 0 ? '' : `; ${silent}`;
  if (window === '') return `no account is available${besides}`;
  if (endsAtMs <= nowMs) return `${window} quota used up${besides}`;
  const when = `${timeText(endsAtMs)} (in ${durationText(endsAtMs - nowMs)})`;
  return `${window} quota used up at ${when} at the current rate${besides}`;
}

function columnsAt(nowMs: number): Columns<Account> {
  return {
    account: ({ name }) => name,
    state: accountStateCell,
    'in flight': ({ inFlight, maxInFlight }) => (maxInFlight === 0 ? `${inFlight}` : `${inFlight}/${maxInFlight}`),
    headroom: (account) => {
      const headroom = headroomOf(account);
      return headroom === undefined ? '–' : percent(headroom);
    },
    'quotas used': ({ windows }) => windows.map((window) => quotaText(window, nowMs)).join('; '),
    reason: ({ cooldowns, note, lastError }) => {
      const running = cooldowns.filter(({ untilMs }) => untilMs === undefined || untilMs > nowMs);
      return joined([...running.map(cooldownText), note, lastErrorCell(lastError, nowMs)]);
    },
  };
}

function quotaText({ name, models, usedFraction, resetsAtMs }: QuotaWindow, nowMs: number): string {
  const of = models === '' ? '' : ` of ${models}`;
  const reset = resetsAtMs === undefined ? '' : `, resets in ${durationText(Math.max(0, resetsAtMs - nowMs))}`;
  return `${name}${of} ${percent(usedFraction)}${reset}`;
}

function cooldownText({ untilMs, model, feature, reason, givenByProvider }: Cooldown): string {
  const of = model || feature;
  const scope = of === '' ? 'cooling' : `cooling for ${of}`;
  const end = untilMs === undefined ? 'until an operator enables it' : `until ${timeText(untilMs)}`;
  return `${scope} ${end} after ${enumWord(AttemptResult, reason)}${givenByProvider ? ' (reset named by the provider)' : ''}`;
}
