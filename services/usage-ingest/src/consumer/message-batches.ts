import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { fromUsageMessage } from '@gateway/usage-stream';
import type { ConsumerMessages, JsMsg } from 'nats';

/** A message of the stream with what it says; no events when it can't be understood. */
export interface ReceivedMessage<M extends Bytes = JsMsg> {
  readonly message: M;
  readonly events: readonly UsageRecorded[] | undefined;
}

export interface BatchOptions<M extends Bytes = JsMsg> {
  /** A batch ends with the message that brings it to so many events. */
  readonly batchEvents: number;
  /**
   * Is given the last message when nothing more is at hand and the batch is not full, and how many messages like those in it
   * would fill it; what arrives until it resolves goes with it. At most once per batch.
   */
  readonly gather: (last: M, missing: number) => Promise<void>;
}

/** Messages as they come, and how many are at hand. */
export type Messages<M extends Bytes = JsMsg> = AsyncIterable<M> & Pick<ConsumerMessages, 'getPending'>;

/** What has to be known of a message to read it. */
type Bytes = Pick<JsMsg, 'data'>;

/** Messages as they arrive, joined into full batches while there are enough, and else into batches of those that were gathered. */
export async function* messageBatches<M extends Bytes>(
  messages: Messages<M>,
  { batchEvents, gather }: BatchOptions<M>,
): AsyncGenerator<readonly ReceivedMessage<M>[]> {
  let batch: ReceivedMessage<M>[] = [];
  let events = 0;
  let isGathered = false;
  for await (const message of messages) {
    const received = read(message);
    batch.push(received);
    events += received.events?.length ?? 0;
    if (events < batchEvents) {
      if (!isMoreAtHand(messages) && !isGathered) {
        isGathered = true;
        await gather(message, ((batchEvents - events) * batch.length) / Math.max(1, events));
      }
      if (isMoreAtHand(messages)) continue;
    }
    yield batch;
    batch = [];
    events = 0;
    isGathered = false;
  }
  if (batch.length > 0) yield batch;
}

/** The message that is being read is still counted as pending. */
function isMoreAtHand(messages: Pick<ConsumerMessages, 'getPending'>): boolean {
  return messages.getPending() > 1;
}

function read<M extends Bytes>(message: M): ReceivedMessage<M> {
  try {
    return { message, events: fromUsageMessage(message.data) };
  } catch {
    return { message, events: undefined };
  }
}
