import { create, toBinary } from '@bufbuild/protobuf';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromUsageMessage, maxPerMessage, toUsageMessages } from './usage-message.ts';

const batch = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    create(RequestRecordedSchema, { requestId: `r${n}`, status: 200, attempts: [{ usage: { inputTokens: 5 } }] }),
  );

describe('usage messages', () => {
  it('carry every request with its usage, in order', () => {
    fc.assert(
      fc.property(fc.nat(3 * maxPerMessage), (count) => {
        const sent = batch(count);
        const messages = toUsageMessages(sent);
        expect(messages.flatMap(({ data }) => fromUsageMessage(data))).toEqual(sent);
        expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
      }),
      { numRuns: 20 },
    );
  });

  it('have the request id as their id when they hold one request', () => {
    expect(toUsageMessages(batch(1)).map(({ id }) => id)).toEqual(['r0']);
  });

  it('have the same id when the same requests are sent again, and another one for others', () => {
    const [first] = toUsageMessages(batch(3));
    expect(toUsageMessages(batch(3))[0]?.id).toBe(first?.id);
    expect(toUsageMessages(batch(2))[0]?.id).not.toBe(first?.id);
  });

  it('are refused when they are something else', () => {
    const empty = toBinary(RecordRequestSchema, create(RecordRequestSchema));
    for (const data of [Buffer.from('{"request_id":"r"}'), Buffer.from('hi'), Buffer.from([0xff, 0xff]), empty]) {
      expect(() => fromUsageMessage(data)).toThrow();
    }
  });
});
