import { create } from '@bufbuild/protobuf';
import { accountErrorText, areAllFailing, failureRemedy, isFailing, pauseReason } from '@gateway/presentation';
import { type Attention, AttentionSchema, Severity } from '@gateway/proto/admin/v1/system_service_pb.js';
import { type Account, AccountState, AccountUse } from '@gateway/proto/pool/v1/account_pb.js';
import { type PoolPause, type QuotaForecast, QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { alertThresholds } from '@gateway/telemetry/alert-thresholds';
import type { PeopleState } from '../access/people-state.ts';
import { everyone } from '../access/person-rules.ts';
import { countOf } from './counted-figures.ts';
import type { FigureHistory } from './figure-history.ts';
import { maxOf } from './prometheus-text.ts';
import type { ReadReplica } from './replica.ts';

/** The facts from which findings are derived. */
export interface Situation {
  readonly nowMs: number;
  readonly replicas: readonly ReadReplica[];
  readonly history: Pick<FigureHistory, 'counted'>;
  readonly accounts: readonly Account[];
  readonly forecasts: readonly QuotaForecast[];
  readonly pauses: readonly PoolPause[];
  /** Usage that could not be recorded and waits for a person. */
  readonly deadLetters: number;
  /** Absent: no provider signs people in. */
  readonly people?: PeopleState | undefined;
  /**
   * The longest time to expiry that this process has seen of each replica's certificate, by
   * address.
   */
  readonly longestCertificateSeconds: ReadonlyMap<string, number>;
}

interface Finding {
  /** Kind and subject are the same as long as the cause lasts. */
  readonly kind: string;
  /** Absent: the whole gateway. */
  readonly subject?: string;
  readonly urgent?: boolean;
  readonly text: string;
  /** The page with more details. */
  readonly link?: string;
}

const minuteMs = 60_000;

/** What needs a person now, the most urgent first. */
export function attentionOf(situation: Situation): readonly Attention[] {
  const findings = rules.flatMap((rule) => rule(situation));
  const inOrder = [...findings.filter(({ urgent }) => urgent), ...findings.filter(({ urgent }) => !urgent)];
  return inOrder.map(({ urgent, link = '/system', ...finding }) =>
    create(AttentionSchema, { ...finding, severity: urgent ? Severity.CRITICAL : Severity.WARNING, link }),
  );
}

const rules: readonly ((situation: Situation) => readonly Finding[])[] = [
  replicasThatAreNotReady,
  backendsThatAreAway,
  lostUsage,
  failingRequests,
  degradedLimits,
  pausedPools,
  poolsThatEnd,
  failingAccounts,
  accountsOutOfService,
  lateUsage,
  unrecordedUsage,
  refusedConfiguration,
  missingGroups,
  peopleWithoutLookups,
  expiringCertificates,
];

function replicasThatAreNotReady({ replicas }: Situation): readonly Finding[] {
  const services = Map.groupBy(replicas, ({ service }) => service);
  return [...services].flatMap(([service, all]): readonly Finding[] => {
    const away = all.filter(({ problem }) => problem !== undefined);
    if (away.length === 0) return [];
    const problems = away.map(({ address, problem }) => `${address}: ${problem}`).join('; ');
    const cause = { kind: 'replicas_not_ready', subject: service };
    if (away.length === all.length) return [{ ...cause, urgent: true, text: `No ${service} is ready (${problems}).` }];
    const verb = away.length === 1 ? 'is' : 'are';
    return [{ ...cause, text: `${away.length} of ${all.length} ${service} replicas ${verb} not ready (${problems}).` }];
  });
}

const backendTexts: Readonly<Record<string, string>> = {
  redis: 'Redis is unreachable: limits are estimated, for five minutes at most.',
  postgres: 'Postgres is unreachable: tokens that were not used recently are rejected, and usage is queued.',
  nats: 'NATS is unreachable: usage is queued on the disks of the edges.',
};

function backendsThatAreAway({ replicas }: Situation): readonly Finding[] {
  const away = replicas.flatMap(({ samples }) =>
    (samples?.get('gateway_backend_up') ?? []).filter(({ value }) => value === 0).map(({ labels }) => labels.backend),
  );
  return [...new Set(away)].map((backend = '') => ({
    ...{ kind: 'backend_away', subject: backend },
    urgent: backend !== 'nats',
    text: backendTexts[backend] ?? `${backend} is unreachable.`,
  }));
}

function lostUsage({ history }: Situation): readonly Finding[] {
  const lost = countOf(history.counted('lostUsage', alertThresholds.usageLostWindowMinutes * minuteMs));
  const text = `Usage was lost or unreadable ${count(lost, 'time', 'times')} in the last 15 minutes: check the disks of the edges.`;
  return lost === 0 ? [] : [{ kind: 'usage_lost', urgent: true, text }];
}

/** Enough failures, and one in a hundred: a single failure needs no attention. */
function failingRequests({ history }: Situation): readonly Finding[] {
  const requests = countOf(history.counted('requests', 5 * minuteMs));
  const errors = countOf(history.counted('errors', 5 * minuteMs));
  if (errors < alertThresholds.fewestFailures || errors < requests / 100) return [];
  const text = `${Math.round((errors / requests) * 100)} % of the requests in the last 5 minutes failed.`;
  return [{ kind: 'requests_failing', urgent: true, text, link: '/requests?kind=failed' }];
}

function degradedLimits({ replicas, history }: Situation): readonly Finding[] {
  const isAway = replicas.some(({ samples }) => maxOf(samples, 'gateway_limiter_store_away') === 1);
  if (!isAway && countOf(history.counted('degradedLimits', minuteMs)) === 0) return [];
  const text = 'Limits are estimated: the limiter or its Redis is unreachable.';
  return [{ kind: 'limits_estimated', urgent: true, text }];
}

/** The causes of a pool whose accounts are all failing are reported with the accounts. */
function pausedPools({ pauses, accounts, nowMs }: Situation): readonly Finding[] {
  const failing = failingPools(accounts);
  return pauses
    .filter(({ pool }) => !failing.has(pool))
    .map((pause) => {
      const { pool, model, untilMs } = pause;
      const end = untilMs === undefined ? 'until one request succeeds' : `for ${duration(untilMs - nowMs)}`;
      const text = `The pool ${pool} is paused ${end}: ${pauseReason(pause)}.`;
      const subject = model === '' ? pool : `${pool} ${model}`;
      return { kind: 'pool_paused', subject, urgent: model === '', text, link: linkTo(pool) };
    });
}

function failingPools(accounts: readonly Account[]): ReadonlySet<string> {
  const pools = [...Map.groupBy(accounts, ({ pool }) => pool)];
  return new Set(pools.filter(([, all]) => areAllFailing(all)).map(([pool]) => pool));
}

function linkTo(pool: string): string {
  return `/pools/${encodeURIComponent(pool)}`;
}

/** Pools that are paused as a whole are reported already, and accounts that are failing too. */
function poolsThatEnd({ accounts, forecasts, pauses, nowMs, history }: Situation): readonly Finding[] {
  const exhausted = history.counted('poolExhausted', minuteMs);
  const paused = new Set(pauses.filter(({ model }) => model === '').map(({ pool }) => pool));
  const reported = paused.union(failingPools(accounts));
  return [...Map.groupBy(accounts, ({ pool }) => pool)].flatMap(([pool, all]): readonly Finding[] => {
    if (reported.has(pool)) return [];
    const exhaustion = { kind: 'pool_exhausted', subject: pool, urgent: true, link: linkTo(pool) };
    const free = all.filter(({ state }) => state === AccountState.AVAILABLE || state === AccountState.PROBING);
    if (free.length === 0) {
      const text = `The pool ${pool} has no available account${firstFree(all, nowMs)}. Add or enable one.`;
      return [{ ...exhaustion, text }];
    }
    const refused = exhausted.get(pool) ?? 0;
    if (refused > 0) {
      const text = `The pool ${pool} had no available account for ${count(refused, 'request', 'requests')} in the last minute.`;
      return [{ ...exhaustion, text }];
    }
    const ends = forecasts.find((each) => each.pool === pool && isSoon(each, nowMs));
    if (ends?.endsAtMs === undefined) return [];
    const of = ends.models === '' ? '' : ` for ${ends.models}`;
    const text = `The quotas of the pool ${pool}${of} run out ${inWords(ends.endsAtMs - nowMs)} at the current rate.`;
    return [{ kind: 'pool_ending', subject: pool, text, link: linkTo(pool) }];
  });
}

function isSoon({ outlook, endsAtMs }: QuotaForecast, nowMs: number): boolean {
  return (
    outlook === QuotaOutlook.ENDS &&
    endsAtMs !== undefined &&
    endsAtMs < nowMs + alertThresholds.poolRunningDrySeconds * 1_000
  );
}

/** When the first of the accounts recovers by itself. */
function firstFree(accounts: readonly Account[], nowMs: number): string {
  const cooling = accounts.filter(({ state }) => state === AccountState.COOLING);
  const ends = cooling.flatMap(({ cooldowns }) =>
    cooldowns.flatMap(({ untilMs }) => (untilMs === undefined ? [] : [untilMs])),
  );
  return ends.length === 0 ? '' : `; the first is available again ${inWords(Math.min(...ends) - nowMs)}`;
}

/** The accounts whose last attempts all failed, grouped by the cause. */
function failingAccounts({ accounts }: Situation): readonly Finding[] {
  const inService = accounts.filter(({ state }) => state !== AccountState.DISABLED && state !== AccountState.DRAINING);
  const groups = Map.groupBy(inService.filter(isFailing), ({ pool, lastError }) =>
    JSON.stringify([pool, lastError && accountErrorText(lastError)]),
  );
  return [...groups.values()].flatMap((group): readonly Finding[] => {
    const [{ id, pool, lastError } = {}] = group;
    if (id === undefined || pool === undefined || lastError === undefined) return [];
    const urgent = areAllFailing(accounts.filter((account) => account.pool === pool));
    const cause = accountErrorText(lastError);
    const most = Math.max(...group.map((account) => account.lastError?.inARow ?? 0));
    const subject =
      group.length === 1
        ? `The account ${id} is failing`
        : `${group.length} accounts of the pool ${pool} are failing (${namesOf(group)})`;
    const times = most === 1 ? '' : `, ${most} errors in a row`;
    const remedy = failureRemedy(lastError, group);
    const text = `${subject}: ${cause}${times}. ${remedy}`.trimEnd();
    return [{ kind: 'account_failing', subject: id, urgent, text, link: linkTo(pool) }];
  });
}

function namesOf(accounts: readonly Account[]): string {
  const names = accounts.map(({ name }) => name);
  return names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`;
}

/** An operator who disabled an account knows of it. */
function accountsOutOfService({ accounts }: Situation): readonly Finding[] {
  const out = accounts.filter(({ state, use }) => state === AccountState.DISABLED && use !== AccountUse.DISABLED);
  return out.map(({ id, pool, note }) => ({
    ...{ kind: 'account_out_of_service', subject: id },
    text: `The account ${id} is out of service: ${note.replace(/\.$/, '') || 'its provider rejects its requests'}.`,
    link: linkTo(pool),
  }));
}

function lateUsage({ replicas }: Situation): readonly Finding[] {
  const oldest = (metric: string) => Math.max(0, ...replicas.map(({ samples }) => maxOf(samples, metric) ?? 0));
  const waiting = oldest('gateway_edge_outbox_oldest_event_seconds');
  const behind = oldest('gateway_ledger_lag_seconds');
  const isLate = (seconds: number) => seconds > alertThresholds.usageLateSeconds;
  const inOutbox = `Usage has waited in an outbox for ${duration(waiting * 1_000)}: NATS or the ledger does not accept it.`;
  const inStream = `The ledger is ${duration(behind * 1_000)} behind: reports do not include the latest usage.`;
  return [
    ...(isLate(waiting) ? [{ kind: 'usage_late', subject: 'outbox', text: inOutbox }] : []),
    ...(isLate(behind) ? [{ kind: 'usage_late', subject: 'ledger', text: inStream }] : []),
  ];
}

function unrecordedUsage({ deadLetters }: Situation): readonly Finding[] {
  if (deadLetters === 0) return [];
  const records = count(deadLetters, 'request record', 'request records');
  return [
    {
      kind: 'usage_unrecorded',
      text: `${records} could not be stored: run gatewayctl usage replay-dead-letters --dry-run to see why.`,
    },
  ];
}

function refusedConfiguration({ replicas }: Situation): readonly Finding[] {
  const isRefused = replicas.some(({ samples }) =>
    samples?.get('gateway_configuration_last_reload_successful')?.some(({ value }) => value === 0),
  );
  const text = 'The changed gateway.yaml is invalid: the previous configuration stays in use.';
  return isRefused ? [{ kind: 'configuration_refused', text, link: '/configuration' }] : [];
}

/** Its people can't sign in, and those who are signed in keep the rules that they have. */
function missingGroups({ people }: Situation): readonly Finding[] {
  return (people?.missingGroups ?? []).map(({ name, members }) => {
    const whose = members.map((each) => (each === everyone ? 'everyone' : each)).join(', ');
    const text = `OIDC_PEOPLE_GROUPS names the group "${name}", which does not exist: people can't sign in (${whose}). Create or rename a group, or change the setting.`;
    return { kind: 'group_missing', subject: name, urgent: true, text, link: '/groups' };
  });
}

function peopleWithoutLookups({ people }: Situation): readonly Finding[] {
  const { withoutLookups = 0 } = people ?? {};
  if (withoutLookups === 0) return [];
  const who = count(withoutLookups, 'person', 'people');
  const text = `The provider gave no refresh token for ${who}, so that they can't be looked up: tokens that they issue end SIGN_IN_IDLE_DAYS after their last sign-in. Allow offline_access for the gateway's client at the provider.`;
  return [{ kind: 'people_not_looked_up', text, link: '/people' }];
}

/**
 * A short-lived certificate is always about to expire. It is overdue if only a small share of its
 * lifetime is left.
 */
function expiringCertificates({ replicas, nowMs, longestCertificateSeconds }: Situation): readonly Finding[] {
  const { certificateExpirySeconds, certificateRemainingShare } = alertThresholds;
  return replicas.flatMap(({ service, address, samples }): readonly Finding[] => {
    const notAfter = maxOf(samples, 'gateway_certificate_not_after_timestamp_seconds');
    if (notAfter === undefined) return [];
    const left = notAfter - nowMs / 1_000;
    const longest = longestCertificateSeconds.get(address) ?? 0;
    if (left > certificateExpirySeconds || left > certificateRemainingShare * longest) return [];
    const end = left <= 0 ? 'has expired' : `expires ${inWords(left * 1_000)}`;
    const text = `The certificate of ${service} at ${address} ${end}: renew it.`;
    return [{ kind: 'certificate_expiring', subject: `${service} ${address}`, urgent: left < 3_600, text }];
  });
}

function inWords(ms: number): string {
  return ms < 1_000 ? 'now' : `in ${duration(ms)}`;
}

function duration(ms: number): string {
  if (ms < 2 * minuteMs) return count(Math.round(ms / 1_000), 'second', 'seconds');
  if (ms < 120 * minuteMs) return `${Math.round(ms / minuteMs)} minutes`;
  const hours = Math.round(ms / (60 * minuteMs));
  return hours < 48 ? `${hours} hours` : `${Math.round(hours / 24)} days`;
}

function count(number: number, one: string, many: string): string {
  return `${Math.round(number)} ${Math.round(number) === 1 ? one : many}`;
}
