import { unknownOutput } from '@gateway/prices';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import { cancelTimer, startInterval } from '@gateway/time';

/** How many tokens to reserve for, by what each model usually reads and writes. */
export class TypicalTokens implements Disposable {
  readonly #usageQuery: Pick<Client<typeof UsageQueryService>, 'getTypicalOutput'>;
  readonly #mostTokens: number;
  #known: ReadonlyMap<string, UsualTokens> = new Map();
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
    const usual = this.#known.get(model)?.output ?? unknownOutput;
    const ofChat = Math.max(requested ?? 0, usual);
    const bounds: Partial<Record<Dialect, number>> = {
      [Dialect.MESSAGES]: requested ?? usual,
      [Dialect.RESPONSES]: usual,
    };
    return Math.min(this.#mostTokens, bounds[dialect] ?? ofChat);
  }

  /** What nearly all requests of a model read. Undefined until the ledger knows. */
  inputOf(model: string): number | undefined {
    return this.#known.get(model)?.input || undefined;
  }

  /** Keeps what it knew if the ledger does not answer. */
  async refresh(): Promise<void> {
    const answer = await this.#usageQuery.getTypicalOutput({}, { timeoutMs: 10_000 }).catch(() => undefined);
    if (answer === undefined) return;
    this.#known = new Map(
      answer.models.map(({ model, outputTokens, inputTokens }) => {
        return [model, { output: outputTokens, input: inputTokens }];
      }),
    );
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
  }
}

interface UsualTokens {
  readonly input: number;
  readonly output: number;
}

const refreshEveryMs = 3_600_000;
