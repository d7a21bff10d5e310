import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Severity } from '@gateway/proto/admin/v1/system_service_pb.js';
import { AccountSchema, AccountState, AccountUse, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolPauseSchema, QuotaForecastSchema, QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { describe, expect, it } from 'vitest';
import { attentionOf, type Situation } from './attention.ts';
import type { CountedFigure } from './counted-figures.ts';
import { readReplica } from './replica.ts';

const nowMs = Date.parse('2026-11-21T09:00:00Z');
const inMinutes = (minutes: number) => nowMs + minutes * 60_000;
const replica = (metrics: string, problem?: string, address = '10.0.0.1:9090') =>
  readReplica({ service: 'limiter', address, metrics, problem }, nowMs);
const account = (name: string, state: AccountState, more: MessageInitShape<typeof AccountSchema> = {}) =>
  create(AccountSchema, { id: `p/${name}`, pool: 'p', name, state, use: AccountUse.ACTIVE, ...more });
const counted = (counts: Partial<Record<CountedFigure, number>>) => ({
  counted: (figure: CountedFigure) => new Map([['', counts[figure] ?? 0]]),
});

const calm: Situation = {
  nowMs,
  replicas: [],
  history: counted({}),
  accounts: [],
  forecasts: [],
  pauses: [],
  deadLetters: 0,
  longestCertificateSeconds: new Map([['10.0.0.1:9090', 90 * 86_400]]),
};

function attention(situation: Partial<Situation>) {
  const found = attentionOf({ ...calm, ...situation });
  return found.map(({ severity, text, link }) => `${Severity[severity]} ${text} ${link}`);
}

describe('attention', () => {
  it('has a kind and a subject that stay the same as long as the cause lasts', () => {
    const causes = (situation: Partial<Situation>) =>
      attentionOf({ ...calm, ...situation }).map(({ kind, subject }) => [kind, subject]);
    const failing = (inARow: number) => ({
      accounts: [
        account('a', AccountState.AVAILABLE, { lastError: { result: AttemptResult.SERVER_ERROR, inARow } }),
        account('b', AccountState.DISABLED, { note: `refused ${inARow} times` }),
        account('c', AccountState.AVAILABLE),
      ],
    });
    expect(causes(failing(3))).toEqual([
      ['account_failing', 'p/a'],
      ['account_out_of_service', 'p/b'],
    ]);
    expect(causes(failing(9))).toEqual(causes(failing(3)));
    const refusals = (poolExhausted: number) => ({
      accounts: [account('a', AccountState.AVAILABLE)],
      history: { counted: () => new Map([['p', poolExhausted]]) },
    });
    expect(causes(refusals(2)).at(-1)).toEqual(['pool_exhausted', 'p']);
    expect(causes(refusals(7))).toEqual(causes(refusals(2)));
    const ending = (minutes: number) => ({
      accounts: [account('a', AccountState.AVAILABLE)],
      forecasts: [create(QuotaForecastSchema, { pool: 'p', outlook: QuotaOutlook.ENDS, endsAtMs: inMinutes(minutes) })],
    });
    expect(causes(ending(30))).toEqual([['pool_ending', 'p']]);
    expect(causes(ending(20))).toEqual(causes(ending(30)));
  });

  it('is nothing while all is well', () => {
    const metrics = 'gateway_backend_up{backend="redis"} 1\ngateway_limiter_store_away 0\ngateway_ledger_lag_seconds 3';
    const accounts = [account('a', AccountState.AVAILABLE), account('b', AccountState.COOLING)];
    expect(attention({ replicas: [replica(metrics)], accounts })).toEqual([]);
  });

  it('is a group of tokens that a setting names and that does not exist, and people who are never looked up', () => {
    const missingGroups = [{ name: 'Team A', members: ['developers', '*'] }];
    expect(attention({ people: { missingGroups, withoutLookups: 1 } })).toEqual([
      'CRITICAL OIDC_PEOPLE_GROUPS names the group "Team A", which does not exist: people can\'t sign in (developers, everyone). Create or rename a group, or change the setting. /groups',
      "WARNING The provider gave no refresh token for 1 person, so that they can't be looked up: tokens that they issue end SIGN_IN_IDLE_DAYS after their last sign-in. Allow offline_access for the gateway's client at the provider. /people",
    ]);
    expect(attention({ people: { missingGroups: [], withoutLookups: 0 } })).toEqual([]);
  });

  it('begins with the most urgent finding', () => {
    const accounts = [account('a', AccountState.DISABLED, { note: 'its credential was revoked' })];
    const found = attention({
      deadLetters: 2,
      accounts: [...accounts, account('b', AccountState.AVAILABLE)],
      replicas: [replica('gateway_backend_up{backend="redis"} 0')],
    });
    expect(found).toEqual([
      'CRITICAL Redis is unreachable: limits are estimated, for five minutes at most. /system',
      'WARNING The account p/a is out of service: its credential was revoked. /pools/p',
      'WARNING 2 request records could not be stored: run gatewayctl usage replay-dead-letters --dry-run to see why. /system',
    ]);
  });

  it('is an account whose last attempts all failed, with the cause, urgent when none of its pool works', () => {
    const failing = (name: string, upstreamStatus: number, inARow = 7) =>
      account(name, AccountState.AVAILABLE, {
        lastError: { result: AttemptResult.SERVER_ERROR, upstreamStatus, inARow },
      });
    expect(attention({ accounts: [failing('a', 500), account('b', AccountState.AVAILABLE)] })).toEqual([
      "WARNING The account p/a is failing: 500 from the provider, 7 errors in a row. Check the provider's status page. /pools/p",
    ]);
    expect(attention({ accounts: [failing('a', 500), failing('b', 500, 9), failing('c', 502)] })).toEqual([
      "CRITICAL 2 accounts of the pool p are failing (a, b): 500 from the provider, 9 errors in a row. Check the provider's status page. /pools/p",
      "CRITICAL The account p/c is failing: 502 from the provider, 7 errors in a row. Check the provider's status page. /pools/p",
    ]);
    const away = account('d', AccountState.DISABLED, { lastError: { inARow: 5 }, use: AccountUse.DISABLED });
    expect(attention({ accounts: [failing('a', 500, 2), away] })).toEqual([]);
    const lastError = { result: AttemptResult.UNAUTHORIZED, upstreamStatus: 401, inARow: 1 };
    const rejected = account('e', AccountState.COOLING, { lastError });
    expect(attention({ accounts: [rejected, account('b', AccountState.AVAILABLE)] })).toEqual([
      'WARNING The account p/e is failing: 401 from the provider. Replace the key where the account is defined. If the provider accepts the key again, gatewayctl account enable p/e ends the pause at once. /pools/p',
    ]);
  });

  it('is one cause once: no pause, and no want of accounts, when every account of a pool is failing', () => {
    const rejected = account('a', AccountState.COOLING, {
      lastError: { result: AttemptResult.UNAUTHORIZED, upstreamStatus: 401, inARow: 1 },
      cooldowns: [{ untilMs: inMinutes(10) }],
      source: 'OPENAI_API_KEY',
    });
    const pause = create(PoolPauseSchema, {
      ...{ pool: 'p', reason: AttemptResult.UNAUTHORIZED, untilMs: inMinutes(10) },
    });
    const byAccount =
      'The account p/a is failing: 401 from the provider. Set OPENAI_API_KEY to a valid key, and restart the gateway. If the provider accepts the key again, gatewayctl account enable p/a ends the pause at once. /pools/p';
    expect(attention({ accounts: [rejected], pauses: [pause] })).toEqual([`CRITICAL ${byAccount}`]);
    expect(attention({ accounts: [rejected] })).toEqual([`CRITICAL ${byAccount}`]);
    expect(attention({ accounts: [rejected, account('b', AccountState.COOLING)], pauses: [pause] })).toEqual([
      'CRITICAL The pool p is paused for 10 minutes: no account is available (rejected by the provider). /pools/p',
      `WARNING ${byAccount}`,
    ]);
  });

  it('is a service without a replica that is ready, more than one replica among others', () => {
    const away = replica('', 'it did not answer', '10.0.0.2:9090');
    expect(attention({ replicas: [away] })).toEqual([
      'CRITICAL No limiter is ready (10.0.0.2:9090: it did not answer). /system',
    ]);
    expect(attention({ replicas: [replica(''), away] })).toEqual([
      'WARNING 1 of 2 limiter replicas is not ready (10.0.0.2:9090: it did not answer). /system',
    ]);
  });

  it('is no account that an operator has disabled', () => {
    const byHand = account('a', AccountState.DISABLED, { use: AccountUse.DISABLED });
    expect(attention({ accounts: [byHand, account('b', AccountState.AVAILABLE)] })).toEqual([]);
  });

  it('reports a pool that has no account left, refuses requests, or will be used up within the hour', () => {
    const cooling = account('a', AccountState.COOLING, { cooldowns: [{ untilMs: inMinutes(20) }] });
    expect(attention({ accounts: [cooling, account('b', AccountState.DRAINING)] })).toEqual([
      'CRITICAL The pool p has no available account; the first is available again in 20 minutes. Add or enable one. /pools/p',
    ]);
    const accounts = [account('a', AccountState.AVAILABLE)];
    const history = { counted: (figure: CountedFigure) => new Map([['p', figure === 'poolExhausted' ? 3 : 0]]) };
    expect(attention({ accounts, history })).toEqual([
      'CRITICAL The pool p had no available account for 3 requests in the last minute. /pools/p',
    ]);
    const ends = (minutes: number) =>
      create(QuotaForecastSchema, {
        pool: 'p',
        models: 'opus-*',
        outlook: QuotaOutlook.ENDS,
        endsAtMs: inMinutes(minutes),
      });
    expect(attention({ accounts, forecasts: [ends(40)] })).toEqual([
      'WARNING The quotas of the pool p for opus-* run out in 40 minutes at the current rate. /pools/p',
    ]);
    expect(attention({ accounts, forecasts: [ends(61)] })).toEqual([]);
  });

  it('is a pool that is paused: why, and until when', () => {
    const pause = (init: MessageInitShape<typeof PoolPauseSchema>) => create(PoolPauseSchema, { pool: 'p', ...init });
    const cooling = account('a', AccountState.COOLING, { cooldowns: [{ untilMs: inMinutes(20) }] });
    const { SERVER_ERROR, OVERLOADED, NETWORK_ERROR } = AttemptResult;
    expect(
      attention({ accounts: [cooling], pauses: [pause({ reason: SERVER_ERROR, untilMs: inMinutes(1) })] }),
    ).toEqual([
      'CRITICAL The pool p is paused for 60 seconds: no account is available (too many server errors in a row). /pools/p',
    ]);
    const accounts = [account('a', AccountState.AVAILABLE)];
    const ofModel = { reason: OVERLOADED, wholePool: true, model: 'gpt-5.5', untilMs: inMinutes(3) };
    expect(
      attention({ accounts, pauses: [pause(ofModel), pause({ reason: NETWORK_ERROR, wholePool: true })] }),
    ).toEqual([
      'CRITICAL The pool p is paused until one request succeeds: the provider is unreachable. /pools/p',
      'WARNING The pool p is paused for 3 minutes: the provider is overloaded for gpt-5.5. /pools/p',
    ]);
  });

  it('is usage that comes late, and usage that is lost', () => {
    const late = replica('gateway_edge_outbox_oldest_event_seconds 601\ngateway_ledger_lag_seconds 7300');
    expect(attention({ replicas: [late], history: counted({ lostUsage: 1 }) })).toEqual([
      'CRITICAL Usage was lost or unreadable 1 time in the last 15 minutes: check the disks of the edges. /system',
      'WARNING Usage has waited in an outbox for 10 minutes: NATS or the ledger does not accept it. /system',
      'WARNING The ledger is 2 hours behind: reports do not include the latest usage. /system',
    ]);
  });

  it('is a limiter that estimates, and requests that fail more often than now and then', () => {
    expect(attention({ history: counted({ degradedLimits: 4 }) })).toHaveLength(1);
    expect(attention({ replicas: [replica('gateway_limiter_store_away 1')] })).toHaveLength(1);
    expect(attention({ history: counted({ requests: 100, errors: 9 }) })).toEqual([]);
    expect(attention({ history: counted({ requests: 10_000, errors: 50 }) })).toEqual([]);
    expect(attention({ history: counted({ requests: 200, errors: 50 }) })).toEqual([
      'CRITICAL 25 % of the requests in the last 5 minutes failed. /requests?kind=failed',
    ]);
  });

  it('is a certificate near its end, but none that never lasts long', () => {
    const expiring = (days: number) =>
      replica(`gateway_certificate_not_after_timestamp_seconds ${nowMs / 1_000 + days * 86_400}`);
    expect(attention({ replicas: [expiring(3)] })).toEqual([
      'WARNING The certificate of limiter at 10.0.0.1:9090 expires in 3 days: renew it. /system',
    ]);
    expect(attention({ replicas: [expiring(8)] })).toEqual([]);
    const longestCertificateSeconds = new Map([['10.0.0.1:9090', 86_400]]);
    expect(attention({ replicas: [expiring(0.5)], longestCertificateSeconds })).toEqual([]);
    expect(attention({ replicas: [expiring(-1)], longestCertificateSeconds })).toHaveLength(1);
  });

  it('is a file that is refused', () => {
    expect(attention({ replicas: [replica('gateway_configuration_last_reload_successful 0')] })).toHaveLength(1);
  });
});
