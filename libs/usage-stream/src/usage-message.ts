import { createHash } from 'node:crypto';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';

/** What is sent to the ledger together: the usage of requests and their log entries. */
export interface UsageBatch {
  readonly events: readonly UsageRecorded[];
  readonly logs: readonly RequestLogged[];
}

/** One message, and the id by which JetStream drops duplicates. */
export interface UsageMessage {
  readonly id: string;
  readonly data: Uint8Array;
}

/**
 * A message with this many of each has at most a few hundred KiB, below NATS's default limit of 1
 * MiB.
 */
export const maxPerMessage = 200;

/**
 * Splits a batch into messages for the stream, each the bytes of a
 * `gateway.usage.v1.RecordRequest`. The same batch always gives the same messages, so that
 * duplicates are detected.
 */
export function toUsageMessages({ events, logs }: UsageBatch): readonly UsageMessage[] {
  const messages: UsageMessage[] = [];
  for (let start = 0; start < Math.max(events.length, logs.length); start += maxPerMessage) {
    const end = start + maxPerMessage;
    const batch = { events: events.slice(start, end), logs: logs.slice(start, end) };
    const data = toBinary(RecordRequestSchema, create(RecordRequestSchema, batch));
    messages.push({ id: messageIdOf(batch), data });
  }
  return messages;
}

/** @throws Error when the bytes are not such a message. */
export function fromUsageMessage(data: Uint8Array): UsageBatch {
  const { events, logs } = fromBinary(RecordRequestSchema, data);
  // Unrelated bytes can parse as a message whose fields are all unknown.
  if (events.length + logs.length === 0) throw new Error('the message has no events');
  return { events, logs };
}

/** The request's id for a single event; otherwise a digest of all ids. */
function messageIdOf({ events, logs }: UsageBatch): string {
  const ids = [...events.map(({ requestId }) => requestId), ...logs.map(({ requestId }) => `log ${requestId}`)];
  return ids.length === 1 ? String(ids[0]) : createHash('sha256').update(ids.join('\n')).digest('base64url');
}
