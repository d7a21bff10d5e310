import type { LimitName } from '@gateway/errors';
import { daySpanOf } from './day-budget.ts';
import type { KeyFacts } from './key-facts.ts';
import type { CostKind, Limits } from './limits.ts';
import { WINDOW_MS } from './minute-window.ts';

export interface Refusal {
  /** The limit that was hit; of two, the one that frees later. */
  readonly limit: LimitName;
  /** When the same request can be admitted. Undefined with a limit of 0: never. */
  readonly retryAtMs: number | undefined;
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
  return (byBudget.retryAtMs ?? Infinity) > (byWindow.retryAtMs ?? Infinity) ? byBudget : byWindow;
}

function refusedByWindow({ limits: { requestsPerMinute }, facts: { requests } }: Question): Refusal | undefined {
  if (requestsPerMinute === undefined || requests.count < requestsPerMinute) return undefined;
  const retryAtMs = requests.blockingMs === undefined ? undefined : requests.blockingMs + WINDOW_MS;
  return { limit: 'requests_per_minute', retryAtMs };
}

function refusedByBudget({ limits: { tokensPerDay }, costKind, facts }: Question): Refusal | undefined {
  if (costKind === 'request_only' || tokensPerDay === undefined || facts.usedTokens < tokensPerDay) return undefined;
  return { limit: 'tokens_per_day', retryAtMs: tokensPerDay === 0 ? undefined : daySpanOf(facts.localDay).endMs };
}
