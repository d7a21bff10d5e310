import { create } from '@bufbuild/protobuf';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { expect, it } from 'vitest';
import { readableJson } from './readable-json.ts';

it('has times in ISO 8601 without the unit in their names, however deep, and counts as numbers', () => {
  const receivedAtMs = Date.parse('2026-11-20T10:00:00.5Z');
  const attempts = [{ accountId: 'pool/a', retryAtMs: receivedAtMs + 500, usage: { inputTokens: 7 } }];
  const request = create(RequestRecordedSchema, { receivedAtMs, attempts });
  expect(readableJson(RequestRecordedSchema, request)).toEqual({
    receivedAt: '2026-11-20T10:00:00.500Z',
    attempts: [{ accountId: 'pool/a', retryAt: '2026-11-20T10:00:01.000Z', usage: { inputTokens: 7 } }],
  });
});

it('has no time that is none', () => {
  const request = create(RequestRecordedSchema, { receivedAtMs: Number.NaN });
  expect(() => readableJson(RequestRecordedSchema, request)).toThrow(RangeError);
});
