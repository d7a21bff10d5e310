import { create } from '@bufbuild/protobuf';
import { RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { LedgerOutcome, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchOf, decoded, encoded, isLog, keyOf, type OutboxRow } from './outbox-row.ts';

const requestId = fc.string({ minLength: 1, unit: 'binary' });
const outcome = fc.constantFrom(
  LedgerOutcome.UNSPECIFIED,
  LedgerOutcome.COMPLETED,
  LedgerOutcome.FAILED,
  LedgerOutcome.LOST,
);
const usage = fc
  .record({ requestId, tokenId: fc.string(), inputTokens: fc.maxSafeNat().map((any) => any % 2 ** 40), outcome })
  .map((fields) => create(UsageRecordedSchema, fields));
const log = fc.record({ requestId, status: fc.nat(599) }).map((fields) => create(RequestLoggedSchema, fields));

const rowOf = (message: OutboxRow['message'], state: OutboxRow['state'] = 'final'): OutboxRow => ({
  ...{ number: 1, state, message },
  changedAtMs: Date.parse('2026-11-20T12:00:00.123Z'),
});

describe('a row of the outbox', () => {
  it('is read back from disk as it was written, when it is final', () => {
    fc.assert(
      fc.property(fc.oneof(usage, log), (message) => {
        expect(decoded(...encoded(rowOf(message)))).toEqual(message);
      }),
    );
  });

  it('is read back as estimated when it was open, and as lost unless a provider was answering', () => {
    fc.assert(
      fc.property(usage, (message) => {
        const read = decoded(...encoded(rowOf(message, 'open')));
        const isUnanswered = message.outcome === LedgerOutcome.UNSPECIFIED;
        expect(read).toEqual({
          ...message,
          estimated: true,
          outcome: isUnanswered ? LedgerOutcome.LOST : message.outcome,
        });
      }),
    );
  });

  it('says in the file what it is', () => {
    const event = create(UsageRecordedSchema, { requestId: 'r' });
    expect(encoded(rowOf(event, 'open'))[0]).toBe('open');
    expect(encoded(rowOf(event))[0]).toBe('usage');
    expect(encoded(rowOf(create(RequestLoggedSchema, { requestId: 'r' })))[0]).toBe('log');
  });

  it('is nothing when its bytes are no message, or a message without a request', () => {
    for (const kind of ['open', 'usage', 'log']) {
      for (const bytes of [new Uint8Array(), Buffer.from('no message'), 'a text', null, 7, undefined])
        expect(decoded(kind, bytes)).toBeUndefined();
    }
  });

  it('has a key of its own for the usage and for the log entry of a request', () => {
    const event = create(UsageRecordedSchema, { requestId: 'r' });
    const entry = create(RequestLoggedSchema, { requestId: 'r' });
    expect([keyOf(event), keyOf(entry)]).toEqual(['r', 'log r']);
    expect([isLog(event), isLog(entry)]).toEqual([false, true]);
  });
});

it('rows are sent together, in order, usage with the instant at which it ended', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(usage, log)), (messages) => {
      const { events, logs } = batchOf(messages.map((message) => rowOf(message)));
      expect(events).toEqual(messages.filter((message) => !isLog(message)));
      expect(logs).toEqual(messages.filter(isLog));
      for (const { endedAtMs } of events) expect(endedAtMs).toBe(Date.parse('2026-11-20T12:00:00.123Z'));
    }),
  );
});
