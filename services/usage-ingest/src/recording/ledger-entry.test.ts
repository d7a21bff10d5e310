import { create, fromBinary } from '@bufbuild/protobuf';
import { TimestampSchema, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { LedgerOutcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEvent } from './ledger-entry.ts';

const complete = create(UsageRecordedSchema, {
  requestId: 'r1',
  tokenId: 't1',
  admittedAt: timestampFromMs(1_700_000_000_123),
  localDay: '2026-11-20',
  endpoint: '/v1/messages',
  provider: 'provider_b',
  model: 'claude-sonnet-5',
  inputTokens: 10n,
  cachedTokens: 4n,
  outputTokens: 7n,
  reasoningTokens: 2n,
  estimated: true,
  outcome: LedgerOutcome.ABORTED,
  accountId: 'messages/team-a',
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
    });
  });

  it('may have any counts that adapters take', () => {
    const count = fc.bigInt({ min: 0n, max: 2n ** 40n });
    const counts = fc.record({ inputTokens: count, cachedTokens: count, outputTokens: count, reasoningTokens: count });
    fc.assert(fc.property(counts, (changes) => void expect(read(changes)).toBeTypeOf('object')));
  });

  it('needs no provider: none may have answered', () => {
    expect(read({ provider: '', model: '', outcome: LedgerOutcome.LOST })).toBeTypeOf('object');
  });

  it.each([
    ['no request id', { requestId: '' }],
    ['no token id', { tokenId: '' }],
    ['no moment', { admittedAt: undefined }],
    ['a moment beyond all counting', { admittedAt: create(TimestampSchema, { seconds: 2n ** 62n }) }],
    ['no outcome', { outcome: LedgerOutcome.UNSPECIFIED }],
    ['an outcome of a later release', { outcome: laterOutcome }],
    ['a day that does not exist', { localDay: '2026-02-30' }],
    ['a day in another form', { localDay: '20-11-2026' }],
    ['a negative count', { outputTokens: -1n }],
    ['an absurd count', { inputTokens: 2n ** 53n }],
    ['a count just beyond those that adapters take', { outputTokens: 2n ** 40n + 1n }],
    ['a text with NUL', { model: 'a\0b' }],
    ['a text that is no Unicode', { model: '\ud800' }],
    ['a text without end', { provider: 'x'.repeat(513) }],
    ['an account with NUL', { accountId: 'messages/a\0b' }],
  ])('with %s can not be stored', (_name, changes) => {
    expect(read(changes)).toBeTypeOf('string');
  });
});
