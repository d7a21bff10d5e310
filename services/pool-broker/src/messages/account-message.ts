import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type AccountSchema, AccountState, type CooldownSchema } from '@gateway/proto/pool/v1/account_pb.js';
import type { Cooldown } from '../health/account-health.ts';
import { isRunning } from '../health/account-health.ts';
import { availabilityOf, windowsAt } from '../health/availability.ts';
import type { AccountView } from '../selection/fitness.ts';
import { toResultMessage } from './attempt-message.ts';
import { toWindowMessage } from './window-message.ts';

/** An account as operators see it: never its credential. */
export function toAccountMessage(view: AccountView, nowMs: number): MessageInitShape<typeof AccountSchema> {
  const { account, health, inFlight } = view;
  return {
    id: account.id,
    pool: account.pool,
    name: account.name,
    state: toState(view, nowMs),
    cooldowns: health.cooldowns.filter((cooldown) => isRunning(cooldown, nowMs)).map(toCooldownMessage),
    inFlight,
    maxInFlight: Number.isFinite(account.maxConcurrency) ? account.maxConcurrency : 0,
    note: account.note,
    windows: windowsAt(health, nowMs).map(toWindowMessage),
  };
}

/** The state of the account as a whole: cooldowns of single models are listed beside it. */
function toState({ account, health }: AccountView, nowMs: number): AccountState {
  if (account.state === 'disabled') return AccountState.DISABLED;
  if (account.state === 'draining') return AccountState.DRAINING;
  const { kind } = availabilityOf(health, '', nowMs);
  if (kind === 'cooling') return AccountState.COOLING;
  return kind === 'probing' ? AccountState.PROBING : AccountState.AVAILABLE;
}

function toCooldownMessage(cooldown: Cooldown): MessageInitShape<typeof CooldownSchema> {
  return {
    until: timestampFromMs(cooldown.untilMs),
    model: cooldown.model,
    reason: toResultMessage(cooldown.reason),
    givenByProvider: cooldown.givenByProvider,
  };
}
