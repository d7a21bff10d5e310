import { create } from '@bufbuild/protobuf';
import { LimitStatusSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { expect, it } from 'vitest';
import { reachedText, usedToday } from './token-use-text.ts';

it('counts what the last request used beyond the limit', () => {
  const { tokens } = create(LimitStatusSchema, { tokens: { limit: 60, remaining: 0 } });
  expect(usedToday(tokens, 61)).toBe(61);
  expect(usedToday(tokens, 40)).toBe(60);
  expect(usedToday(undefined, 7)).toBe(7);
});

it('says that a limit is reached', () => {
  expect([0, 0, 1, undefined].map(reachedText)).toEqual([' (limit reached)', ' (limit reached)', '', '']);
});
