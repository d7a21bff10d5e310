import { create } from '@bufbuild/protobuf';
import { RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { expect, it } from 'vitest';
import { readableJson } from './readable-json.ts';

it('has times in ISO 8601 without the unit in their names, however deep, and counts as numbers', () => {
  const receivedAtMs = Date.parse('2026-11-20T10:00:00.5Z');
  const attempts = [{ accountId: 'pool/a', retryAtMs: receivedAtMs + 500 }];
  const request = create(RequestLoggedSchema, { receivedAtMs, attempts, usage: { inputTokens: 7 } });
  expect(readableJson(RequestLoggedSchema, request)).toEqual({
    receivedAt: '2026-11-20T10:00:00.500Z',
    attempts: [{ accountId: 'pool/a', retryAt: '2026-11-20T10:00:01.000Z' }],
    usage: { inputTokens: 7 },
  });
});

it('has no time that is none', () => {
  const request = create(RequestLoggedSchema, { receivedAtMs: Number.NaN });
  expect(() => readableJson(RequestLoggedSchema, request)).toThrow(RangeError);
});
