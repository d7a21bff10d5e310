import { addAbortListener } from 'node:events';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { cancelTimer, startTimer } from '@gateway/time';

/**
 * The destination of finished usage: JetStream, or the ingest service itself if there is no NATS.
 */
export interface UsageSink {
  /**
   * Resolves when a batch is safely stored on the other side. May be repeated with the same batch.
   */
  record(batch: readonly RequestRecorded[], signal: AbortSignal): Promise<void>;
}

export interface Sending {
  /** Aborts the delivery at once. */
  readonly stop: AbortSignal;
  /** The sink takes longer than one nearby would: what waits for it should be stored on disk. */
  onSlow(): void;
  /** The sink takes so long that requests no longer wait for it. */
  onLate(): void;
}

/**
 * Sends a batch to the sink. Rejects when the sink does not accept it, at the latest after ten
 * seconds: a sink that ignores the signal delays neither the retry nor the end of the process.
 */
export async function sendBatch(
  sink: UsageSink,
  batch: readonly RequestRecorded[],
  { stop, onSlow, onLate }: Sending,
): Promise<void> {
  const sending = new AbortController();
  const givenUp = Promise.withResolvers<never>();
  const giveUp = (reason: unknown) => {
    sending.abort(reason);
    givenUp.reject(reason);
  };
  using _stopping = addAbortListener(stop, () => giveUp(stop.reason));
  // One timer for all three limits: most batches are accepted before the first.
  let timer = startTimer(() => {
    onSlow();
    timer = startTimer(() => {
      onLate();
      timer = startTimer(() => giveUp(new Error('the sink has not answered in time')), timeoutMs - lateMs);
    }, lateMs - slowMs);
  }, slowMs);
  try {
    await Promise.race([sink.record(batch, sending.signal), givenUp.promise]);
  } finally {
    cancelTimer(timer);
  }
}

const slowMs = 5;
const lateMs = 1_000;
const timeoutMs = 10_000;
