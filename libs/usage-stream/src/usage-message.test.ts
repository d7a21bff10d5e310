import { create, toBinary } from '@bufbuild/protobuf';
import { RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromUsageMessage, maxPerMessage, toUsageMessages } from './usage-message.ts';

const batch = (events: number, logs = 0) => ({
  events: Array.from({ length: events }, (_, n) => create(UsageRecordedSchema, { requestId: `r${n}`, inputTokens: 5 })),
  logs: Array.from({ length: logs }, (_, n) => create(RequestLoggedSchema, { requestId: `r${n}`, status: 200 })),
});

describe('usage messages', () => {
  it('carry every event and log entry, in order', () => {
    fc.assert(
      fc.property(fc.nat(3 * maxPerMessage), fc.nat(3 * maxPerMessage), (events, logs) => {
        const sent = batch(events, logs);
        const messages = toUsageMessages(sent);
        const received = messages.map(({ data }) => fromUsageMessage(data));
        expect(received.flatMap((each) => each.events)).toEqual(sent.events);
        expect(received.flatMap((each) => each.logs)).toEqual(sent.logs);
        expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
      }),
      { numRuns: 20 },
    );
  });

  it('have the request id as their id when they hold one event', () => {
    expect(toUsageMessages(batch(1)).map(({ id }) => id)).toEqual(['r0']);
  });

  it('have the same id when the same events are sent again, and another one for others', () => {
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
