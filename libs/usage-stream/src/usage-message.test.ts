import { create, toBinary } from '@bufbuild/protobuf';
import { UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromUsageMessage, maxEventsPerMessage, toUsageMessages } from './usage-message.ts';

const events = (count: number) =>
  Array.from({ length: count }, (_, index) => create(UsageRecordedSchema, { requestId: `r${index}`, inputTokens: 5n }));

describe('usage messages', () => {
  it('carry every event, in order', () => {
    fc.assert(
      fc.property(fc.nat(3 * maxEventsPerMessage), (count) => {
        const sent = events(count);
        const messages = toUsageMessages(sent);
        expect(messages.flatMap(({ data }) => fromUsageMessage(data))).toEqual(sent);
        expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
      }),
      { numRuns: 20 },
    );
  });

  it('have the request id as their id when they hold one event', () => {
    expect(toUsageMessages(events(1)).map(({ id }) => id)).toEqual(['r0']);
  });

  it('have the same id when the same events are sent again, and another one for others', () => {
    const [first] = toUsageMessages(events(3));
    expect(toUsageMessages(events(3))[0]?.id).toBe(first?.id);
    expect(toUsageMessages(events(2))[0]?.id).not.toBe(first?.id);
  });

  it('are refused when they are something else', () => {
    const empty = toBinary(RecordRequestSchema, create(RecordRequestSchema));
    for (const data of [Buffer.from('{"request_id":"r"}'), Buffer.from('hi'), Buffer.from([0xff, 0xff]), empty]) {
      expect(() => fromUsageMessage(data)).toThrow();
    }
  });
});
