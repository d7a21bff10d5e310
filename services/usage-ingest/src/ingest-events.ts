import type { ServiceRuntime } from '@gateway/lifecycle';
import { durationBucketsSeconds } from '@gateway/telemetry';

/** What operators learn of the way into the ledger. */
export interface IngestEvents {
  recorded(fresh: number, repeated: number): void;
  /** Something can't be understood and was put aside. */
  buried(deadLetterId: string, reason: string): void;
  /** One batch of messages was stored and acknowledged. */
  batchStored(durationSeconds: number): void;
  /** Messages were given back, to come again. */
  batchFailed(messages: number, thrown: unknown): void;
  /** Messages in the stream that were not delivered yet. */
  backlog(messages: number): void;
  /** Stored messages were removed from the stream, to make room. */
  trimmed(messages: number): void;
  /** The stream or its consumer could not be worked with. */
  consumerFailed(thrown: unknown): void;
}

export function createIngestEvents({ logger, metrics }: ServiceRuntime): IngestEvents {
  const events = metrics.counter({
    name: 'gateway_usage_events_total',
    help: 'Usage events that arrived at the ledger: recorded, repeated (already there) or dead_letter.',
    labels: ['result'],
  });
  const failures = metrics.counter({
    name: 'gateway_usage_batch_failures_total',
    help: 'Batches of usage messages that could not be stored and will come again.',
  });
  const durations = metrics.histogram({
    name: 'gateway_usage_batch_duration_seconds',
    help: 'Time to store one batch of usage messages.',
    buckets: durationBucketsSeconds,
  });
  const backlog = metrics.gauge({
    name: 'gateway_usage_backlog_messages',
    help: 'Usage messages in the stream that were not delivered yet.',
  });

  return {
    recorded(fresh, repeated) {
      events.inc({ result: 'recorded' }, fresh);
      events.inc({ result: 'repeated' }, repeated);
    },
    buried(deadLetterId, reason) {
      events.inc({ result: 'dead_letter' });
      logger.error({ deadLetterId, reason }, 'usage that can not be recorded was put in dead_letters');
    },
    batchStored: (durationSeconds) => durations.observe(durationSeconds),
    batchFailed(messages, thrown) {
      failures.inc();
      logger.warn({ messages, err: thrown }, 'usage could not be stored; it comes again');
    },
    backlog: (messages) => backlog.set(messages),
    trimmed: (messages) => logger.info({ messages }, 'removed stored messages from the usage stream'),
    consumerFailed: (thrown) => logger.warn({ err: thrown }, 'the usage stream can not be read; trying on'),
  };
}
