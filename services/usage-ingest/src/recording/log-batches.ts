import { isRefusedData } from '@gateway/database';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { Logger } from '@gateway/telemetry';
import { cancelTimer, startTimer, type Timer } from '@gateway/time';
import type { IngestMetrics } from '../metrics.ts';
import type { UsageLedger } from '../store/usage-ledger.ts';

interface LogBatchesParts {
  readonly ledger: Pick<UsageLedger, 'addLogs'>;
  readonly metrics: Pick<IngestMetrics, 'refusedLogs'>;
  readonly logger: Logger;
}

/** A batch is stored after this time, or when it has this many rows, whichever comes first. */
const batchMs = 250;
const batchRows = 250;
/** With so many rows, the database does not keep up. */
const mostWaiting = 2_500;

/**
 * Stores entries of the request log in batches, apart from usage, because a row of a large batch
 * costs much less. A process that is killed loses the entries that wait, and no usage.
 */
export class LogBatches implements AsyncDisposable {
  readonly #parts: LogBatchesParts;
  #waiting: RequestRecorded[] = [];
  #timer: Timer | undefined;
  #storing: Promise<void> | undefined;
  /** Why the last batch could not be stored. */
  #failure: unknown;

  constructor(parts: LogBatchesParts) {
    this.#parts = parts;
  }

  /**
   * Returns before the entries are stored. While the database fails or does not keep up, it waits
   * for the entries before these, and throws if they can't be stored: the sender then keeps these.
   */
  async add(logs: readonly RequestRecorded[]): Promise<void> {
    if (logs.length === 0) return;
    if (this.#failure !== undefined || this.#waiting.length >= mostWaiting) await this.#store();
    if (this.#failure !== undefined) throw this.#failure;
    this.#waiting.push(...logs);
    if (this.#waiting.length >= batchRows) void this.#store();
    else this.#storeLater();
  }

  /** Stores what is waiting. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#storing;
    await this.#store();
    cancelTimer(this.#timer);
  }

  #storeLater(): void {
    this.#timer ??= startTimer(() => void this.#store(), batchMs);
  }

  async #store(): Promise<void> {
    this.#storing ??= this.#storeWaiting().finally(() => {
      this.#storing = undefined;
      if (this.#waiting.length > 0) this.#storeLater();
    });
    await this.#storing;
  }

  async #storeWaiting(): Promise<void> {
    cancelTimer(this.#timer);
    const batch = this.#waiting;
    [this.#timer, this.#waiting] = [undefined, []];
    try {
      if (batch.length > 0) await this.#storeBatch(batch);
      this.#failure = undefined;
    } catch (thrown) {
      this.#waiting.unshift(...batch);
      if (this.#failure === undefined) {
        this.#parts.logger.warn({ err: thrown }, 'the request log cannot be stored; retrying');
      }
      this.#failure = thrown;
    }
  }

  /** When the database rejects several because of their data, it finds those that are at fault. */
  async #storeBatch(batch: readonly RequestRecorded[]): Promise<void> {
    const { ledger, metrics, logger } = this.#parts;
    try {
      await ledger.addLogs(batch);
    } catch (thrown) {
      if (!isRefusedData(thrown)) throw thrown;
      if (batch.length > 1) for (const each of batch) await this.#storeBatch([each]);
      else {
        metrics.refusedLogs.inc();
        logger.error({ err: thrown }, 'the database rejects an entry of the request log; it is dropped');
      }
    }
  }
}
