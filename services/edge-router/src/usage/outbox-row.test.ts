import { clone, create } from '@bufbuild/protobuf';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchOf, decoded, encoded, outboxRowOf, type StoredRow } from './outbox-row.ts';

const usage = fc.record({ inputTokens: fc.maxSafeNat().map((any) => any % 2 ** 40), estimated: fc.boolean() });
const attempt = fc.record({ model: fc.string(), usage: fc.option(usage, { nil: undefined }) });
const record = fc
  .record({
    requestId: fc.string({ minLength: 1, unit: 'binary' }),
    tokenId: fc.string(),
    attempts: fc.array(attempt, { maxLength: 3 }),
    ending: fc.constantFrom(RequestEnding.UNSPECIFIED, RequestEnding.COMPLETED, RequestEnding.FAILED),
    receivedAtMs: fc.option(fc.nat(), { nil: undefined }),
    status: fc.nat(599),
  })
  .map((fields) => create(RequestRecordedSchema, fields));

const endedMs = Date.parse('2026-11-20T12:00:00.123Z');
const stored = (of: RequestRecorded): StoredRow => ({ number: 1, state: 'final', changedAtMs: endedMs, record: of });

describe('a row of the outbox', () => {
  it('begins as one that no file has, of an open request', () => {
    const of = create(RequestRecordedSchema, { requestId: 'r' });
    expect(outboxRowOf(of)).toMatchObject({ number: 0, state: 'open', isStored: false });
    expect(outboxRowOf(of).record).toBe(of);
  });

  it('is read back from disk as it was written, when it is final', () => {
    fc.assert(
      fc.property(record, (message) => {
        expect(decoded('final', encoded(message))).toEqual(message);
      }),
    );
  });

  it('is read back with estimated usage when it was open, and with no other change', () => {
    fc.assert(
      fc.property(record, (message) => {
        const expected = clone(RequestRecordedSchema, message);
        for (const each of expected.attempts) if (each.usage !== undefined) each.usage.estimated = true;
        expect(decoded('open', encoded(message))).toEqual(expected);
      }),
    );
  });

  it('is nothing when its bytes are no message, or a message without a request', () => {
    for (const kind of ['open', 'final']) {
      for (const bytes of [new Uint8Array(), Buffer.from('no message'), 'a text', null, 7, undefined])
        expect(decoded(kind, bytes)).toBeUndefined();
    }
  });
});

it('rows are sent together, in order, with the instant at which each request ended', () => {
  fc.assert(
    fc.property(fc.array(record), (messages) => {
      const expected = messages.map((message) => ({ ...message, endedAtMs: endedMs }));
      expect(batchOf(messages.map(stored))).toEqual(expected);
    }),
  );
});
