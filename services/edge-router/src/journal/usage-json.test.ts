import { create, toJsonString } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usageJson } from './usage-json.ts';

const text = fc.oneof(
  fc.constant(''),
  fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed()),
);
const tokens = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }));
const wholeMs = fc.nat(999).map((ms) => ms * 1_000_000);
const admittedAt = fc.option(
  fc
    .record({
      seconds: fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
      nanos: fc.oneof(fc.constant(0), wholeMs, fc.nat(999_999_999)),
    })
    .map((at) => create(TimestampSchema, at)),
  { nil: undefined },
);
const event: fc.Arbitrary<UsageRecorded> = fc
  .record({
    requestId: text,
    tokenId: text,
    localDay: text,
    endpoint: text,
    provider: text,
    model: text,
    inputTokens: tokens,
    cachedTokens: tokens,
    outputTokens: tokens,
    reasoningTokens: tokens,
    estimated: fc.boolean(),
    outcome: fc.constantFrom(Outcome.UNSPECIFIED, Outcome.COMPLETED, Outcome.ABORTED, Outcome.FAILED, Outcome.LOST),
    admittedAt,
  })
  .map(({ admittedAt: at, ...members }) =>
    create(UsageRecordedSchema, { ...members, ...(at === undefined ? {} : { admittedAt: at }) }),
  );

describe('usageJson', () => {
  it('writes every event as protobuf would', () => {
    fc.assert(
      fc.property(event, (each) => {
        expect(usageJson(each)).toBe(toJsonString(UsageRecordedSchema, each));
      }),
      { numRuns: 1_000 },
    );
  });

  it('knows every field of the event', () => {
    expect(UsageRecordedSchema.fields.map(({ jsonName }) => jsonName)).toEqual([
      'requestId',
      'tokenId',
      'admittedAt',
      'localDay',
      'endpoint',
      'provider',
      'model',
      'inputTokens',
      'cachedTokens',
      'outputTokens',
      'reasoningTokens',
      'estimated',
      'outcome',
    ]);
  });
});
