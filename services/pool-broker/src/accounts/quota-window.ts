import { matchesAnyPattern } from '../catalog/model-pattern.ts';

/** A quota of an account, as its provider tells it. */
export interface QuotaWindow {
  /** As in "5h", "7d_opus", "requests". An account has at most one of a name for the same models. */
  readonly name: string;
  /** See `holdsForModel`. */
  readonly models: string;
  /** 0 to 1; more when the provider let requests pass beyond it. */
  readonly usedFraction: number;
  /** When it begins anew; undefined when the provider did not say. */
  readonly resetsAtMs?: number | undefined;
  /** How long it is as a whole; undefined when not known. */
  readonly lengthMs?: number | undefined;
}

/**
 * Whether what is confined to some models concerns this one. `models` is a model's id or, for a family, a pattern in which
 * "*" stands for any text; empty for the whole account. `model` empty asks for the account as a whole.
 */
export function holdsForModel(models: string, model: string): boolean {
  return models === '' || (model !== '' && matchesAnyPattern(model, [models]));
}

export function isSpent({ usedFraction }: QuotaWindow): boolean {
  return usedFraction >= 1;
}
