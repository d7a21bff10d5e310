import type { JsonBody } from '@gateway/json';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import { cancelTimer, startInterval } from '@gateway/time';
import type { Pricing } from '../pricing/pricing.ts';

export interface ReservedRequest {
  readonly body: Pick<JsonBody, 'source' | 'value'>;
  readonly dialect: Dialect;
  /** As the client names it. */
  readonly model: string;
  /** The day whose prices apply. */
  readonly localDay: string;
}

/**
 * What a request can cost, in millionths of the currency: its estimated input, and as much output
 * as it may have, at the dearest model that may answer. 0: no such model has a price.
 */
export function possibleCost(
  { body, dialect, model, localDay }: ReservedRequest,
  pricing: Pick<Pricing, 'prices' | 'candidatesOf'>,
  outputs: Pick<TypicalOutputs, 'boundFor'>,
): number {
  const inputTokens = BigInt(Math.ceil(body.source.length / bytesPerToken));
  const costs = pricing.candidatesOf(model).map((candidate) => {
    const outputTokens = BigInt(outputs.boundFor(candidate, requestedOutput(body), dialect));
    const tokens = { inputTokens, outputTokens, cachedTokens: 0n, cacheWrite5mTokens: 0n, cacheWrite1hTokens: 0n };
    return Number(pricing.prices.costOf(candidate, tokens, localDay) ?? 0n);
  });
  return Math.max(0, ...costs);
}

/** How much output to reserve for, by what each model usually writes. */
export class TypicalOutputs implements Disposable {
  readonly #usageQuery: Pick<Client<typeof UsageQueryService>, 'getTypicalOutput'>;
  readonly #mostTokens: number;
  #known: ReadonlyMap<string, number> = new Map();
  readonly #timer = startInterval(() => void this.refresh(), refreshEveryMs).unref();

  /** @param mostTokens is never exceeded, whatever a request asks for. */
  constructor(usageQuery: Pick<Client<typeof UsageQueryService>, 'getTypicalOutput'>, mostTokens: number) {
    this.#usageQuery = usageQuery;
    this.#mostTokens = mostTokens;
  }

  /**
   * Only Messages providers obey a bound. Those of Responses do not get it, and a chat request may
   * be answered by either.
   * @param requested by the request itself; undefined: it names no bound.
   */
  boundFor(model: string, requested: number | undefined, dialect: Dialect): number {
    const usual = this.#known.get(model) ?? unknownOutput;
    const ofChat = Math.max(requested ?? 0, usual);
    const bounds: Partial<Record<Dialect, number>> = {
      [Dialect.MESSAGES]: requested ?? usual,
      [Dialect.RESPONSES]: usual,
    };
    return Math.min(this.#mostTokens, bounds[dialect] ?? ofChat);
  }

  /** Keeps what it knew if the ledger does not answer. */
  async refresh(): Promise<void> {
    const answer = await this.#usageQuery.getTypicalOutput({}, { timeoutMs: 10_000 }).catch(() => undefined);
    if (answer === undefined) return;
    this.#known = new Map(answer.models.map(({ model, outputTokens }) => [model, Number(outputTokens)]));
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
  }
}

/** Bytes per token of ordinary text. */
const bytesPerToken = 4;
/** Until the ledger knows better. */
const unknownOutput = 4_096;
const refreshEveryMs = 3_600_000;

/** The most output that a request asks for, under any of the names of the three APIs. */
function requestedOutput(body: Pick<JsonBody, 'value'>): number | undefined {
  const given = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']
    .map((name) => body.value(name))
    .filter((value) => typeof value === 'number' && Number.isInteger(value) && value > 0);
  return given.length === 0 ? undefined : Math.max(...given.map(Number));
}
