import type { AttemptOutcome } from '../accounts/attempt.ts';
import { holdsForModel, isSpent, type QuotaWindow } from '../accounts/attempt.ts';

/** What a 429 limits, and until when. */
export interface Limit {
  /** See `Cooldown.model`. */
  readonly scope: string;
  /** Undefined when the provider named no moment that is yet to come. */
  readonly retryAtMs: number | undefined;
  /** The quota window that is used up, where one is. */
  readonly window: string | undefined;
}

/**
 * What a 429 says: a model that is limited by a window of its family is limited with its whole family, and a moment that
 * has passed is no reset: to believe it would be to ask again at once, and for ever.
 */
export function limitOf({ retryAtMs, modelScoped, windows }: AttemptOutcome, model: string, nowMs: number): Limit {
  const spent = windows.filter((window) => isSpent(window) && !isOver(window, nowMs));
  const ofAccount = spent.filter(({ models }) => models === '');
  const ofModel = spent.filter(({ models }) => models !== '' && holdsForModel(models, model));
  const isOfModel = modelScoped || (ofAccount.length === 0 && ofModel.length > 0);
  const binding = lastToReset(isOfModel ? ofModel : ofAccount);
  const resetMs = retryAtMs ?? binding?.resetsAtMs;
  return {
    scope: isOfModel ? (binding?.models ?? model) : '',
    retryAtMs: resetMs === undefined || resetMs <= nowMs ? undefined : resetMs,
    window: binding?.name,
  };
}

function isOver({ resetsAtMs }: QuotaWindow, nowMs: number): boolean {
  return resetsAtMs !== undefined && resetsAtMs <= nowMs;
}

function lastToReset(windows: readonly QuotaWindow[]): QuotaWindow | undefined {
  return windows.toSorted((one, other) => (other.resetsAtMs ?? 0) - (one.resetsAtMs ?? 0))[0];
}
