import { type Account, servesModel } from '../accounts/account.ts';
import type { AttemptResult } from '../accounts/attempt.ts';
import type { AccountHealth, Cooldown } from '../health/account-health.ts';
import { type Availability, availabilityOf } from '../health/availability.ts';
import type { TroubleCause } from '../health/pool-health.ts';

/** An account with what is known of it at the moment of choice. */
export interface AccountView {
  readonly account: Account;
  readonly health: AccountHealth;
  /** Requests under way. */
  readonly inFlight: number;
}

/** Why an account can't take a request. */
export type Obstacle =
  /** `note`: why, where it is not the configuration that says so. */
  | { readonly kind: 'disabled'; readonly note: string }
  | { readonly kind: 'draining' | 'model_not_served' | 'busy' | 'share_used_up' }
  | { readonly kind: 'cooling'; readonly cooldown: Cooldown; readonly limitOnly: boolean }
  | { readonly kind: 'probing'; readonly cooldown: Cooldown; readonly freeAtMs: number; readonly limitOnly: boolean }
  | { readonly kind: 'pool_paused'; readonly cause: TroubleCause; readonly untilMs: number }
  | { readonly kind: 'tried'; readonly result: AttemptResult };

export type Fitness =
  /** `probe`: the request would find out whether a cooldown is over, and must be the only one to do so. */
  | { readonly kind: 'fit'; readonly probe: boolean }
  /** `early`: it cools, but one request may find out ahead of the end whether it still has to. */
  | { readonly kind: 'unfit'; readonly obstacle: Obstacle; readonly early?: 'due' | 'last_resort' };

/** What a request has met so far. */
export interface RequestHistory {
  /** Attempts made so far. */
  readonly attempts: number;
  /** How the request's attempt with an account and model ended; undefined when it made none. */
  triedResult(accountId: string, model: string): AttemptResult | undefined;
  /** True when another request was faster to take the account's last place. */
  wasOvertakenAt(accountId: string): boolean;
}

/** Whether an account can take a request for a model now, and if not, why. */
export function fitnessOf(view: AccountView, model: string, history: RequestHistory, nowMs: number): Fitness {
  const { account, health } = view;
  if (account.state === 'disabled') return unfit({ kind: 'disabled', note: account.note });
  if (account.state === 'draining') return unfit({ kind: 'draining' });
  if (!servesModel(account, model)) return unfit({ kind: 'model_not_served' });
  const availability = availabilityOf(health, model, nowMs);
  const busy = isBusy(view, history);
  if (availability.kind === 'cooling') return coolingFitness(availability, busy || isTried(view, model, history));
  if (availability.kind === 'probing') return unfit(availability);
  const result = history.triedResult(account.id, model);
  if (result !== undefined) return unfit({ kind: 'tried', result });
  if (busy) return unfit({ kind: 'busy' });
  return availability.kind === 'probe_due' ? fitToProbe : fit;
}

const fit: Fitness = { kind: 'fit', probe: false };
const fitToProbe: Fitness = { kind: 'fit', probe: true };

function coolingFitness(
  { kind, cooldown, limitOnly, early }: Extract<Availability, { kind: 'cooling' }>,
  isOutOfReach: boolean,
): Fitness {
  const obstacle = { kind, cooldown, limitOnly };
  return early === 'not_yet' || isOutOfReach ? unfit(obstacle) : { kind: 'unfit', obstacle, early };
}

function unfit(obstacle: Obstacle): Fitness {
  return { kind: 'unfit', obstacle };
}

function isTried({ account }: AccountView, model: string, history: RequestHistory): boolean {
  return history.triedResult(account.id, model) !== undefined;
}

function isBusy({ account, inFlight }: AccountView, history: RequestHistory): boolean {
  return inFlight >= account.maxConcurrency || history.wasOvertakenAt(account.id);
}
