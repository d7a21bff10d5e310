import { create, fromBinary } from '@bufbuild/protobuf';
import { UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  RecordedAttemptSchema,
  RequestEnding,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type UsedRequest, usedRequest } from '../../test/usage-fixtures.ts';
import { type LedgerEntry, readRecord } from './ledger-entry.ts';

const complete: UsedRequest = {
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
  ending: RequestEnding.ABORTED,
  accountId: 'messages/team-a',
  groupId: 'g1',
  cacheWrite5mTokens: 3,
  cacheWrite1hTokens: 1,
  costMicros: 1_250_000,
};

/** Field 8 with the value 99. */
const { ending: laterEnding } = fromBinary(RequestRecordedSchema, Uint8Array.of(8 << 3, 99));

describe('a request with one attempt', () => {
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

  it('may cost nothing or a thousand million, and may have no cost: the model had no price', () => {
    expect(read({ costMicros: 0 })).toMatchObject({ cost_micros: 0 });
    expect(read({ costMicros: 2 ** 50 })).toMatchObject({ cost_micros: 2 ** 50 });
    const { costMicros: _, ...unpriced } = complete;
    expect(readRecord(usedRequest(unpriced))).toMatchObject([{ cost_micros: null }]);
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
    expect(read({ provider: '', model: '', ending: RequestEnding.UNSPECIFIED })).toBeTypeOf('object');
  });

  it('may have texts of 512 characters, and be admitted at the first instant of 1970', () => {
    const longest = 'x'.repeat(512);
    expect(read({ requestId: longest, model: longest, admittedAtMs: 1 })).toMatchObject({
      ...{ request_id: longest, model: longest, admitted_at_ms: 1 },
    });
  });

  it.each([
    [RequestEnding.COMPLETED, 'completed'],
    [RequestEnding.ABORTED, 'aborted'],
    [RequestEnding.FAILED, 'failed'],
    [RequestEnding.REFUSED, 'failed'],
    [RequestEnding.UNSPECIFIED, 'lost'],
  ])('with ending %i is stored as %s, with counts that are estimated or not', (ending, stored) => {
    expect(read({ ending })).toMatchObject({ outcome: stored, estimated: 1 });
    expect(read({ ending, estimated: false })).toMatchObject({ outcome: stored, estimated: 0 });
  });

  it.each([
    ['no request id', { requestId: '' }, 'request_id is empty'],
    ['no token id', { tokenId: '' }, 'token_id is empty'],
    ['no moment', { admittedAtMs: 0 }, 'admittedAtMs is not a time'],
    ['a moment before 1970', { admittedAtMs: -1 }, 'admittedAtMs is not a time'],
    ['a moment beyond all counting', { admittedAtMs: 2 ** 62 }, 'admittedAtMs is not a time'],
    ['an ending of a later release', { ending: laterEnding }, 'ending is unknown'],
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

describe('a request with several attempts', () => {
  const own = usedRequest(complete);
  const unused = create(RecordedAttemptSchema, { accountId: 'messages/unused' });

  it('has an entry of its last attempt, and others of those with usage that it gave up', () => {
    const givenUp = { accountId: 'pool/b', provider: 'provider_a', model: 'gpt-5.5', estimated: false, costMicros: 3 };
    const { attempts } = usedRequest(givenUp);
    const record = { ...own, attempts: [unused, ...attempts, ...own.attempts] };
    expect(readRecord(record)).toMatchObject([
      {
        ...{ request_id: 'r1/2', outcome: 'given_up', account_id: 'pool/b', model: 'gpt-5.5', provider: 'provider_a' },
        ...{ token_id: 't1', local_day: '2026-11-20', group_id: 'g1', estimated: 0, cost_micros: 3, input_tokens: 10 },
      },
      read({}),
    ]);
  });

  it('has no entry of its own if its last attempt used nothing, and none at all if no attempt did', () => {
    expect(readRecord({ ...own, attempts: [...own.attempts, unused] })).toMatchObject([
      { request_id: 'r1/1', outcome: 'given_up', input_tokens: 10 },
    ]);
    for (const attempts of [[], [unused], [unused, unused]]) {
      expect(readRecord({ ...own, attempts })).toEqual([]);
      expect(readRecord({ ...own, attempts, tokenId: '', localDay: '', admittedAtMs: 0 })).toEqual([]);
    }
  });

  it('has one entry for each attempt with usage, named after its place', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(1_000), { nil: undefined }), { minLength: 1 }), (used) => {
        const attempts = used.map((inputTokens) =>
          create(RecordedAttemptSchema, inputTokens === undefined ? {} : { usage: { inputTokens } }),
        );
        const entries = new Map(entriesOf(readRecord({ ...own, attempts })).map((entry) => [entry.request_id, entry]));
        const names = used.map((_, n) => (n === used.length - 1 ? 'r1' : `r1/${n + 1}`));
        expect(names.map((name) => entries.get(name)?.input_tokens)).toEqual(used);
        expect(entries.size).toBe(used.filter((tokens) => tokens !== undefined).length);
        for (const [name, { outcome }] of entries) expect(outcome).toBe(name === 'r1' ? 'aborted' : 'given_up');
      }),
    );
  });

  it('is not recorded at all, and says why, if one of its attempts cannot be', () => {
    const { attempts } = usedRequest({ model: 'a\0b' });
    const reason = 'model is a text that cannot be stored';
    expect(readRecord({ ...own, attempts: [...attempts, ...own.attempts] })).toBe(reason);
    expect(readRecord({ ...own, attempts: [...own.attempts, ...attempts] })).toBe(reason);
  });

  it('has at most two hundred', () => {
    const many = Array.from({ length: 199 }, () => unused);
    expect(readRecord({ ...own, attempts: [...many, ...own.attempts] })).toEqual([read({})]);
    expect(readRecord({ ...own, attempts: [unused, ...many, ...own.attempts] })).toBe('attempts are too many');
  });
});

/** The only entry of the complete request with these changes, or why it can't be recorded. */
function read(changes: UsedRequest): LedgerEntry | string {
  const entries = readRecord(usedRequest({ ...complete, ...changes }));
  if (typeof entries === 'string') return entries;
  expect(entries).toHaveLength(1);
  return entries[0] ?? expect.fail('no entry');
}

function entriesOf(entries: readonly LedgerEntry[] | string): readonly LedgerEntry[] {
  return typeof entries === 'string' ? expect.fail(entries) : entries;
}
