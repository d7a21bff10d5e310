import { create, fromBinary } from '@bufbuild/protobuf';
import { UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LedgerOutcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEvent } from './ledger-entry.ts';

const complete = create(UsageRecordedSchema, {
  requestId: 'r1',
  tokenId: 't1',
  admittedAtMs: 1_700_000_000_123,
  localDay: '2026-11-20',
  endpoint: '/v1/messages',
  provider: 'provider_b',
  model: 'claude-sonnet-5',
  inputTokens: 10,
  cachedTokens: 4,
  outputTokens: 7,
  reasoningTokens: 2,
  estimated: true,
  outcome: LedgerOutcome.ABORTED,
  accountId: 'messages/team-a',
  groupId: 'g1',
  cacheWrite5mTokens: 3,
  cacheWrite1hTokens: 1,
  costMicros: 1_250_000,
});

/** Field 13 with the value 99. */
const { outcome: laterOutcome } = fromBinary(UsageRecordedSchema, Uint8Array.of(13 << 3, 99));

const read = (changes: Partial<UsageRecorded>) => readEvent({ ...complete, ...changes });

describe('an event', () => {
  it('becomes a ledger entry with everything it says', () => {
    expect(read({})).toEqual({
      request_id: 'r1',
      token_id: 't1',
      admitted_at_ms: 1_700_000_000_123,
      local_day: '2026-11-20',
      endpoint: '/v1/messages',
      provider: 'provider_b',
      model: 'claude-sonnet-5',
      input_tokens: 10,
      cached_tokens: 4,
      output_tokens: 7,
      reasoning_tokens: 2,
      estimated: 1,
      outcome: 'aborted',
      account_id: 'messages/team-a',
      group_id: 'g1',
      cache_write_5m_tokens: 3,
      cache_write_1h_tokens: 1,
      cost_micros: 1_250_000,
      parts: null,
      unpriced_tokens: 0,
      unpriced_calls: 0,
    });
  });

  it('may cost nothing or a thousand million, and may have no cost: an older edge records none, or the model had no price', () => {
    expect(read({ costMicros: 0 })).toMatchObject({ cost_micros: 0 });
    expect(read({ costMicros: 2 ** 50 })).toMatchObject({ cost_micros: 2 ** 50 });
    const { costMicros: _, ...unpriced } = complete;
    expect(readEvent(create(UsageRecordedSchema, unpriced))).toMatchObject({ cost_micros: null });
  });

  it('has the parts that were priced by themselves, and what of them had no price', () => {
    const calls = { tool: 'web_search', calls: 3 };
    const parts = [
      create(UsagePartSchema, { inputTokens: 5, outputTokens: 2, speed: 'fast', toolCalls: [calls] }),
      create(UsagePartSchema, { kind: 'compaction', model: 'm', inputTokens: 7, costMicros: 9 }),
    ];
    const entry = read({ parts });
    expect(entry).toMatchObject({ unpriced_tokens: 7, unpriced_calls: 3 });
    expect(typeof entry === 'object' && JSON.parse(entry.parts ?? '')).toEqual([
      { inputTokens: 5, outputTokens: 2, speed: 'fast', toolCalls: [{ tool: 'web_search', calls: 3 }] },
      { kind: 'compaction', model: 'm', inputTokens: 7, costMicros: 9 },
    ]);
    expect(read({})).toMatchObject({ parts: null, unpriced_tokens: 0, unpriced_calls: 0 });
  });

  it.each<[object, string]>([
    [{ kind: 'a\0b' }, 'parts have a text that cannot be stored'],
    [{ model: 'x'.repeat(513) }, 'parts have a text that cannot be stored'],
    [{ toolCalls: [{ tool: '\ud800' }] }, 'parts have a text that cannot be stored'],
    [{ inputTokens: -1 }, 'parts have what is not a number'],
    [{ outputTokens: 2 ** 40 + 1 }, 'parts have what is not a number'],
    [{ toolCalls: [{ calls: -1 }] }, 'parts have what is not a number'],
    [{ costMicros: -1 }, 'parts have what is not a cost'],
    [{ toolCalls: [{ costMicros: 2 ** 50 + 1 }] }, 'parts have what is not a cost'],
  ])('with a part of %o can not be stored, and says why', (part, reason) => {
    expect(read({ parts: [create(UsagePartSchema, part)] })).toBe(reason);
    expect(read({ parts: Array.from({ length: 101 }, () => create(UsagePartSchema, part)) })).toBe(
      'parts are too many',
    );
  });

  it('may have any counts that adapters take', () => {
    const count = fc.maxSafeNat().map((any) => any % (2 ** 40 + 1));
    const counts = fc.record({
      inputTokens: count,
      cachedTokens: count,
      cacheWrite5mTokens: count,
      cacheWrite1hTokens: count,
      outputTokens: count,
      reasoningTokens: count,
    });
    fc.assert(fc.property(counts, (changes) => void expect(read(changes)).toBeTypeOf('object')));
  });

  it('needs no provider: none may have answered', () => {
    expect(read({ provider: '', model: '', outcome: LedgerOutcome.LOST })).toBeTypeOf('object');
  });

  it('may have texts of 512 characters, and be admitted at the first instant of 1970', () => {
    const longest = 'x'.repeat(512);
    expect(read({ requestId: longest, model: longest, admittedAtMs: 1 })).toMatchObject({
      ...{ request_id: longest, model: longest, admitted_at_ms: 1 },
    });
  });

  it.each([
    [LedgerOutcome.COMPLETED, 'completed'],
    [LedgerOutcome.ABORTED, 'aborted'],
    [LedgerOutcome.FAILED, 'failed'],
    [LedgerOutcome.LOST, 'lost'],
    [LedgerOutcome.GIVEN_UP, 'given_up'],
  ])('with outcome %i is stored as %s, with counts that are estimated or not', (outcome, stored) => {
    expect(read({ outcome })).toMatchObject({ outcome: stored, estimated: 1 });
    expect(read({ outcome, estimated: false })).toMatchObject({ outcome: stored, estimated: 0 });
  });

  it.each([
    ['no request id', { requestId: '' }, 'request_id is empty'],
    ['no token id', { tokenId: '' }, 'token_id is empty'],
    ['no moment', { admittedAtMs: 0 }, 'admittedAtMs is not a time'],
    ['a moment before 1970', { admittedAtMs: -1 }, 'admittedAtMs is not a time'],
    ['a moment beyond all counting', { admittedAtMs: 2 ** 62 }, 'admittedAtMs is not a time'],
    ['no outcome', { outcome: LedgerOutcome.UNSPECIFIED }, 'outcome is unknown'],
    ['an outcome of a later release', { outcome: laterOutcome }, 'outcome is unknown'],
    ['a day that does not exist', { localDay: '2026-02-30' }, 'localDay is not a day'],
    ['a day in another form', { localDay: '20-11-2026' }, 'localDay is not a day'],
    ['a negative count', { outputTokens: -1 }, 'outputTokens is not a number of tokens'],
    ['an absurd count', { inputTokens: 2 ** 53 }, 'inputTokens is not a number of tokens'],
    [
      'a count just beyond those that adapters take',
      { outputTokens: 2 ** 40 + 1 },
      'outputTokens is not a number of tokens',
    ],
    ['a text with NUL', { model: 'a\0b' }, 'model is a text that cannot be stored'],
    ['a text that is no Unicode', { model: '\ud800' }, 'model is a text that cannot be stored'],
    ['a text without end', { provider: 'x'.repeat(513) }, 'provider is a text that cannot be stored'],
    ['an account with NUL', { accountId: 'messages/a\0b' }, 'accountId is a text that cannot be stored'],
    ['a requestId without end', { requestId: 'x'.repeat(513) }, 'requestId is a text that cannot be stored'],
    ['a tokenId without end', { tokenId: 'x'.repeat(513) }, 'tokenId is a text that cannot be stored'],
    ['a endpoint without end', { endpoint: 'x'.repeat(513) }, 'endpoint is a text that cannot be stored'],
    ['a model without end', { model: 'x'.repeat(513) }, 'model is a text that cannot be stored'],
    ['a accountId without end', { accountId: 'x'.repeat(513) }, 'accountId is a text that cannot be stored'],
    ['a negative inputTokens', { inputTokens: -1 }, 'inputTokens is not a number of tokens'],
    ['a negative cachedTokens', { cachedTokens: -1 }, 'cachedTokens is not a number of tokens'],
    ['a groupId without end', { groupId: 'x'.repeat(513) }, 'groupId is a text that cannot be stored'],
    ['negative cache writes', { cacheWrite5mTokens: -1 }, 'cacheWrite5mTokens is not a number of tokens'],
    ['negative cache writes for an hour', { cacheWrite1hTokens: -1 }, 'cacheWrite1hTokens is not a number of tokens'],
    ['a negative cost', { costMicros: -1 }, 'costMicros is not a cost'],
    ['an absurd cost', { costMicros: 2 ** 50 + 1 }, 'costMicros is not a cost'],
    ['half a token', { outputTokens: 0.5 }, 'outputTokens is not a number of tokens'],
    ['a count that is no number', { inputTokens: Number.NaN }, 'inputTokens is not a number of tokens'],
    ['a cost that is no number', { costMicros: Number.NaN }, 'costMicros is not a cost'],
    ['half a millisecond', { admittedAtMs: 1.5 }, 'admittedAtMs is not a time'],
    ['a negative reasoningTokens', { reasoningTokens: -1 }, 'reasoningTokens is not a number of tokens'],
  ])('with %s can not be stored, and says why', (_name, changes, reason) => {
    expect(read(changes)).toBe(reason);
  });
});
