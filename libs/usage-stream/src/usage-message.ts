import { createHash } from 'node:crypto';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';

/** One message, and the id by which JetStream drops duplicates. */
export interface UsageMessage {
  readonly id: string;
  readonly data: Uint8Array;
}

/**
 * A message with this many requests has at most a few hundred KiB, below NATS's default limit of 1
 * MiB.
 */
export const maxPerMessage = 200;

/**
 * Splits requests into messages for the stream, each the bytes of a
 * `gateway.usage.v1.RecordRequest`. The same requests always give the same messages, so that
 * duplicates are detected.
 */
export function toUsageMessages(all: readonly RequestRecorded[]): readonly UsageMessage[] {
  const messages: UsageMessage[] = [];
  for (let start = 0; start < all.length; start += maxPerMessage) {
    const requests = all.slice(start, start + maxPerMessage);
    const data = toBinary(RecordRequestSchema, create(RecordRequestSchema, { requests }));
    messages.push({ id: messageIdOf(requests), data });
  }
  return messages;
}

/** @throws Error when the bytes are not such a message. */
export function fromUsageMessage(data: Uint8Array): readonly RequestRecorded[] {
  const { requests } = fromBinary(RecordRequestSchema, data);
  // Unrelated bytes can parse as a message whose fields are all unknown.
  if (requests.length === 0) throw new Error('the message has no requests');
  return requests;
}

/** The id of a single request; otherwise a digest of all ids. */
function messageIdOf(requests: readonly RequestRecorded[]): string {
  const ids = requests.map(({ requestId }) => requestId);
  return ids.length === 1 ? String(ids[0]) : createHash('sha256').update(ids.join('\n')).digest('base64url');
}
