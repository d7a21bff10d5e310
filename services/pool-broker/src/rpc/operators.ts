import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { PoolSettings } from '@gateway/config';
import type { AccountSchema, QuotaWindowSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { FailureResult, QuotaWindow } from '../accounts/attempt.ts';
import { isRunning, withoutRefusals } from '../health/account-health.ts';
import { type AccountView, eligibilityOf, windowsAt } from '../health/eligibility.ts';
import type { Broker } from '../selection/broker.ts';
import { explainModel } from '../selection/explain-model.ts';
import { readAccounts } from '../selection/read-candidates.ts';

/** The calls of `gateway.pool.v1.PoolBrokerService` that are for operators. */
export function operatorHandlers(
  broker: Broker,
): Pick<Handlers<typeof PoolBrokerService>, 'listAccounts' | 'enableAccount' | 'explain'> {
  const { configuration, store, credentials, clock } = broker;
  return {
    async listAccounts({ pool }) {
      const { accounts, settings } = configuration;
      const views = await readAccounts(broker, pool === '' ? accounts.all : accounts.ofPool(pool));
      const nowMs = clock.nowMs();
      return { accounts: views.map((view) => toAccountMessage(view, nowMs, settings)) };
    },

    async enableAccount({ accountId }) {
      const account = configuration.accounts.byId(accountId);
      if (account === undefined) return { known: false };
      await credentials.forgetProblem(account);
      await store.changeHealth(accountId, withoutRefusals);
      return { known: true };
    },

    async explain({ model, affinityKey }) {
      const explained = await explainModel(broker, model, affinityKey);
      const nowMs = clock.nowMs();
      const candidates = explained.map(({ candidate, accounts }) => ({
        pool: candidate.pool.name,
        model: candidate.model,
        accounts: accounts.map(({ view, ...choice }) => ({
          account: toAccountMessage(view, nowMs, configuration.settings),
          ...choice,
        })),
      }));
      return { candidates };
    },
  };
}

/** An account as operators see it: never its credential. */
function toAccountMessage(
  view: AccountView,
  nowMs: number,
  rules: PoolSettings,
): MessageInitShape<typeof AccountSchema> {
  const { account, health, inFlight } = view;
  const { id, pool, name, note, maxConcurrency } = account;
  const { obstacle } = eligibilityOf(view, '', { nowMs, rules });
  const cooldowns = health.cooldowns.filter((cooldown) => isRunning(cooldown, nowMs));
  return {
    ...{ id, pool, name, note, inFlight },
    state: states.get(obstacle?.kind ?? '') ?? AccountState.AVAILABLE,
    cooldowns: cooldowns.map(({ untilMs, model, reason, givenByProvider }) => ({
      ...{ model, givenByProvider, until: timestampFromMs(untilMs) },
      reason: AttemptResult[reason.toUpperCase() as Uppercase<FailureResult>],
    })),
    maxInFlight: Number.isFinite(maxConcurrency) ? maxConcurrency : 0,
    windows: windowsAt(health, nowMs).map(toWindowMessage),
  };
}

/** Of the account as a whole: cooldowns of single models are listed beside it. One that is merely busy is available. */
const states: ReadonlyMap<string, AccountState> = new Map([
  ['disabled', AccountState.DISABLED],
  ['draining', AccountState.DRAINING],
  ['cooling', AccountState.COOLING],
  ['probing', AccountState.PROBING],
]);

export function toWindowMessage(window: QuotaWindow): MessageInitShape<typeof QuotaWindowSchema> {
  const { name, models, usedFraction, resetsAtMs, lengthMs = 0 } = window;
  const resetsAt = resetsAtMs === undefined ? undefined : timestampFromMs(resetsAtMs);
  return { name, models, usedFraction, resetsAt, lengthSeconds: Math.round(lengthMs / 1_000) };
}
