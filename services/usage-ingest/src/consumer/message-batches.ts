import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { fromUsageMessage } from '@gateway/usage-stream';
import type { ConsumerMessages, JsMsg } from 'nats';

/** A message of the stream with what it says; no events when it can't be understood. */
export interface ReceivedMessage {
  readonly message: JsMsg;
  readonly events: readonly UsageRecorded[] | undefined;
}

export interface BatchOptions {
  /** A batch ends with the message that brings it to so many events. */
  readonly batchEvents: number;
  /** Is given the first message of each batch; others that arrive until it resolves go with it. */
  readonly gather: (first: JsMsg) => Promise<void>;
}

/** Messages as they arrive, joined into batches of those that are there when their first one has been gathered for. */
export async function* messageBatches(
  messages: ConsumerMessages,
  { batchEvents, gather }: BatchOptions,
): AsyncGenerator<readonly ReceivedMessage[]> {
  let batch: ReceivedMessage[] = [];
  let events = 0;
  for await (const message of messages) {
    if (batch.length === 0) await gather(message);
    const received = read(message);
    batch.push(received);
    events += received.events?.length ?? 0;
    // The message at hand is still counted as pending.
    if (messages.getPending() > 1 && events < batchEvents) continue;
    yield batch;
    batch = [];
    events = 0;
  }
  if (batch.length > 0) yield batch;
}

function read(message: JsMsg): ReceivedMessage {
  try {
    return { message, events: fromUsageMessage(message.data) };
  } catch {
    return { message, events: undefined };
  }
}
