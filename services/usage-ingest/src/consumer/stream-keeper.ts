import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import { ensureUsageStream, type UsageStreamNames, type UsageStreamSettings } from '@gateway/usage-stream';
import {
  AckPolicy,
  type Consumer,
  type ConsumerConfig,
  DeliverPolicy,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  nanos,
} from 'nats';
import type { IngestMetrics } from '../metrics.ts';

/**
 * When unacknowledged messages are redelivered to any replica: they may have been lost with a
 * broken connection. While messages are being stored, this is reported every `progressMs`.
 */
const ackWaitMs = 2_000;
export const progressMs = 700;
/** How many messages all replicas together may hold unacknowledged. */
const maxAckPending = 4_000;

/**
 * The durable consumer that all replicas share. It is created with its stream when it does not
 * exist.
 */
export async function openUsageConsumer(
  connection: NatsConnection,
  settings: UsageStreamSettings,
  names: UsageStreamNames,
): Promise<Consumer> {
  const manager = await connection.jetstreamManager();
  await ensureUsageStream(manager, settings, names);
  await ensureConsumer(manager, names);
  return await connection.jetstream().consumers.get(names.stream, names.consumer);
}

export interface StreamToTend {
  readonly connection: NatsConnection;
  readonly consumer: Consumer;
  readonly names: UsageStreamNames;
  readonly maxBytes: number;
  readonly metrics: IngestMetrics;
  readonly logger: Logger;
}

/**
 * Reports the backlog and its age, and keeps room in the stream. Consumed messages stay, so that an
 * empty ledger can be restored. But a full stream accepts nothing new, so messages that are stored
 * and acknowledged are removed once the stream is half full.
 */
export async function tendStream({ connection, consumer, names, maxBytes, ...watchers }: StreamToTend): Promise<void> {
  const { metrics, logger } = watchers;
  const { num_pending: pending, num_ack_pending: ackPending, ack_floor: floor } = await consumer.info();
  metrics.backlog.set(pending);
  metrics.ackPending.set(ackPending);
  const manager = await connection.jetstreamManager();
  metrics.lag.set(pending + ackPending === 0 ? 0 : await secondsSince(manager, names, floor.stream_seq + 1));
  const { state } = await manager.streams.info(names.stream);
  if (state.bytes < maxBytes / 2 || floor.stream_seq < state.first_seq) return;
  const { purged } = await manager.streams.purge(names.stream, { seq: floor.stream_seq + 1 });
  logger.info({ messages: purged }, 'removed stored messages from the usage stream');
}

/** The age of the first message in the stream from a sequence number on; 0 when there is none. */
async function secondsSince(manager: JetStreamManager, names: UsageStreamNames, seq: number): Promise<number> {
  const query = { seq, next_by_subj: names.subject };
  const first = await ifThere(manager.streams.getMessage(names.stream, query));
  return first === undefined ? 0 : Math.max(0, (epochMs() - first.time.getTime()) / 1_000);
}

/** Creates the consumer or updates its settings. Any number of processes may do so concurrently. */
async function ensureConsumer(manager: JetStreamManager, { stream, consumer, subject }: UsageStreamNames) {
  const config: Partial<ConsumerConfig> = {
    durable_name: consumer,
    filter_subject: subject,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    // Unlimited: an outage of the database must not exhaust the deliveries.
    max_deliver: -1,
    max_ack_pending: maxAckPending,
  };
  const known = (await ifThere(manager.consumers.info(stream, consumer)))?.config;
  if (known === undefined) await manager.consumers.add(stream, config);
  // A consumer that is already correct is not updated: while its stream gets more replicas, NATS
  // would leave the consumer with one.
  else if (!isDeepStrictEqual({ ...known, ...config }, known)) await manager.consumers.update(stream, consumer, config);
}

/** Undefined when it does not exist. */
function ifThere<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((thrown: unknown) => {
    if (thrown instanceof NatsError && thrown.api_error?.code === 404) return undefined;
    throw thrown;
  });
}
