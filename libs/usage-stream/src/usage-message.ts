import { createHash } from 'node:crypto';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';

/** One message on the stream: the bytes of a `gateway.usage.v1.RecordRequest`, and the id that JetStream drops repetitions by. */
export interface UsageMessage {
  readonly id: string;
  readonly data: Uint8Array;
}

/** So many events are a message of at most a few hundred KiB, under the 1 MiB that NATS takes by default. */
export const maxEventsPerMessage = 200;

/** Events as messages. The same events in the same order give the same messages, so that a repetition is recognised. */
export function toUsageMessages(events: readonly UsageRecorded[]): readonly UsageMessage[] {
  const messages: UsageMessage[] = [];
  for (let start = 0; start < events.length; start += maxEventsPerMessage) {
    messages.push(toUsageMessage(events.slice(start, start + maxEventsPerMessage)));
  }
  return messages;
}

/** @throws Error when the bytes are not such a message. */
export function fromUsageMessage(data: Uint8Array): readonly UsageRecorded[] {
  const { events } = fromBinary(RecordRequestSchema, data);
  // Bytes of something else can pass as a message whose fields are all unknown.
  if (events.length === 0) throw new Error('the message holds no events');
  return events;
}

function toUsageMessage(events: UsageRecorded[]): UsageMessage {
  return { id: messageIdOf(events), data: toBinary(RecordRequestSchema, create(RecordRequestSchema, { events })) };
}

/** The request's id for a single event; for several, a digest of theirs. */
function messageIdOf(events: readonly UsageRecorded[]): string {
  const ids = events.map(({ requestId }) => requestId).join('\n');
  return events.length === 1 ? ids : createHash('sha256').update(ids).digest('base64url');
}
