import type { LimitName } from '@gateway/errors';
import { daySpanOf } from './day-budget.ts';
import type { KeyFacts } from './key-facts.ts';
import type { CostKind, Limits } from './limits.ts';
import { WINDOW_MS } from './minute-window.ts';

export interface Refusal {
  /** The limit that was hit; of two, the one that frees later. */
  readonly limit: LimitName;
  /** When the same request can be admitted. A limit of 0 admits nothing then either. */
  readonly retryAtMs: number;
}

export interface Question {
  readonly limits: Limits;
  readonly costKind: CostKind;
  /** Of the key, before the request. */
  readonly facts: KeyFacts;
}

/** Both limits in one decision: undefined when the request is admitted. @see spec "429 responses" */
export function decide(question: Question): Refusal | undefined {
  const byWindow = refusedByWindow(question);
  const byBudget = refusedByBudget(question);
  if (byWindow === undefined || byBudget === undefined) return byWindow ?? byBudget;
  // A client that obeys the earlier moment would only be refused again.
  return byBudget.retryAtMs > byWindow.retryAtMs ? byBudget : byWindow;
}

function refusedByWindow({ limits: { requestsPerMinute }, facts: { nowMs, requests } }: Question): Refusal | undefined {
  if (requestsPerMinute === undefined || requests.count < requestsPerMinute) return undefined;
  return { limit: 'requests_per_minute', retryAtMs: (requests.freeingMs ?? nowMs) + WINDOW_MS };
}

function refusedByBudget({ limits: { tokensPerDay }, costKind, facts }: Question): Refusal | undefined {
  if (costKind === 'request_only' || tokensPerDay === undefined || facts.usedTokens < tokensPerDay) return undefined;
  return { limit: 'tokens_per_day', retryAtMs: daySpanOf(facts.localDay).endMs };
}
