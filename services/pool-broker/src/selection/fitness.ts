import { type Account, servesModel } from '../accounts/account.ts';
import type { AttemptResult } from '../accounts/attempt.ts';
import type { AccountHealth, Cooldown } from '../health/account-health.ts';
import { availabilityOf } from '../health/availability.ts';

/** An account with what is known of it at the moment of choice. */
export interface AccountView {
  readonly account: Account;
  readonly health: AccountHealth;
  /** Requests under way. */
  readonly inFlight: number;
}

/** Why an account can't take a request. */
export type Obstacle =
  | { readonly kind: 'disabled' | 'draining' | 'model_not_served' | 'busy' }
  | { readonly kind: 'cooling'; readonly cooldown: Cooldown; readonly limitOnly: boolean }
  | { readonly kind: 'probing'; readonly cooldown: Cooldown; readonly freeAtMs: number; readonly limitOnly: boolean }
  | { readonly kind: 'tried'; readonly result: AttemptResult };

export type Fitness =
  /** `probe`: the request would find out whether a guessed cooldown is over, and must be the only one to do so. */
  { readonly kind: 'fit'; readonly probe: boolean } | { readonly kind: 'unfit'; readonly obstacle: Obstacle };

/** What a request has met so far. */
export interface RequestHistory {
  /** How the request's attempt with an account and model ended; undefined when it made none. */
  triedResult(accountId: string, model: string): AttemptResult | undefined;
  /** True when another request was faster to take the account's last place. */
  wasOvertakenAt(accountId: string): boolean;
}

/** Whether an account can take a request for a model now, and if not, why. */
export function fitnessOf(view: AccountView, model: string, history: RequestHistory, nowMs: number): Fitness {
  const obstacle = obstacleOf(view, model, history, nowMs);
  if (obstacle !== undefined) return { kind: 'unfit', obstacle };
  return { kind: 'fit', probe: availabilityOf(view.health, model, nowMs).kind === 'probe_due' };
}

function obstacleOf(view: AccountView, model: string, history: RequestHistory, nowMs: number): Obstacle | undefined {
  const { account, health, inFlight } = view;
  if (account.state !== 'active') return { kind: account.state };
  if (!servesModel(account, model)) return { kind: 'model_not_served' };
  const availability = availabilityOf(health, model, nowMs);
  if (availability.kind === 'cooling' || availability.kind === 'probing') return availability;
  const result = history.triedResult(account.id, model);
  if (result !== undefined) return { kind: 'tried', result };
  return inFlight >= account.maxConcurrency || history.wasOvertakenAt(account.id) ? { kind: 'busy' } : undefined;
}
