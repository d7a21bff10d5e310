import type { Clock } from '../../check.ts';
import { Refusal } from './call.ts';
import type { Misbehaviour } from './misbehaviour.ts';

export interface Counts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** This many requests in each window, by this clock. */
export interface DoubledLimit {
  readonly limit: number;
  readonly windowMs: number;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** Requests of the last window, and the usage so far. */
export class Ledger {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #misbehaviour: Misbehaviour;
  readonly #byModel = new Map<string, Usage>();
  #takenAtMs: number[] = [];

  constructor({ limit, windowMs, clock }: DoubledLimit, misbehaviour: Misbehaviour) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#misbehaviour = misbehaviour;
  }

  /** @throws Refusal if no request is left. */
  takeSlot(): void {
    const nowMs = this.#clock.nowMs();
    this.#takenAtMs = this.#takenAtMs.filter((takenAtMs) => takenAtMs > nowMs - this.#windowMs);
    if (this.#takenAtMs.length < this.#limit + (this.#misbehaviour.slotsMore ?? 0))
      return void this.#takenAtMs.push(nowMs);
    const waitMs = (this.#takenAtMs[0] ?? nowMs) + this.#windowMs - nowMs;
    const seconds = Math.max(0, Math.ceil(waitMs / 1_000) - (this.#misbehaviour.waitsSecondsLess ?? 0));
    const retryAt = new Date(nowMs + waitMs).toISOString();
    const headers = { 'retry-after': String(seconds) };
    throw new Refusal(429, 'rate_limit_exceeded', { more: { limit: 'requests_per_minute', retryAt }, headers });
  }

  get headers(): Readonly<Record<string, string>> {
    const left = Math.max(0, this.#limit - this.#takenAtMs.length);
    return {
      'x-ratelimit-limit-requests': String(this.#limit),
      'x-ratelimit-remaining-requests': String(left),
      'x-ratelimit-reset-requests': `${Math.ceil(this.#windowMs / 1_000)}s`,
    };
  }

  record(model: string, { input, cached, output }: Counts): void {
    const times = this.#misbehaviour.countsTwice ? 2 : 1;
    const used = {
      requests: 1,
      inputTokens: input * times,
      cachedTokens: cached * times,
      outputTokens: output * times,
      totalTokens: (input + output) * times,
    };
    this.#byModel.set(model, sumOf([this.#byModel.get(model) ?? nothing, used]));
  }

  /** The usage object of the specification. */
  get usage() {
    const byModel = [...this.#byModel]
      .map(([model, used]) => ({ provider: providerOf(model), model, ...used }))
      .toSorted((one, other) => other.totalTokens - one.totalTokens);
    const total = sumOf(this.#byModel.values());
    const midnight = Temporal.Now.zonedDateTimeISO('Europe/Amsterdam').startOfDay();
    const since = (daysAgo: number) => new Date(midnight.subtract({ days: daysAgo }).epochMilliseconds).toISOString();
    const period = (daysAgo: number) => ({ since: since(daysAgo), ...total, byModel });
    return {
      object: 'usage',
      token: { kind: 'personal', label: 'conformance' },
      timezone: 'Europe/Amsterdam',
      today: period(0),
      last7Days: period(6),
      limits: { requestsPerMinute: null, tokensPerDay: null },
    };
  }
}

export const providerOf = (model: string) => (model.startsWith('claude') ? 'provider_b' : 'provider_a');

const nothing = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, totalTokens: 0 };
type Usage = Readonly<typeof nothing>;

function sumOf(all: Iterable<Usage>): Usage {
  const sum = { ...nothing };
  for (const one of all) for (const name of Object.keys(sum) as (keyof Usage)[]) sum[name] += one[name];
  return sum;
}
