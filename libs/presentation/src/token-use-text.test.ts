import { create } from '@bufbuild/protobuf';
import { LimitStatusSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import { expect, it } from 'vitest';
import { reachedText, usedToday } from './token-use-text.ts';

it('counts what the last request used beyond the limit', () => {
  const { tokens } = create(LimitStatusSchema, { tokens: { limit: 60n, remaining: 0n } });
  expect(usedToday(tokens, 61n)).toBe(61n);
  expect(usedToday(tokens, 40n)).toBe(60n);
  expect(usedToday(undefined, 7n)).toBe(7n);
});

it('says that a limit is reached', () => {
  expect([0, 0n, 1, undefined].map(reachedText)).toEqual([' (limit reached)', ' (limit reached)', '', '']);
});
