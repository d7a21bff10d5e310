import { create } from '@bufbuild/protobuf';
import { LimitName, RefusalSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { expect, it } from 'vitest';
import { endingWords, rejectingLimitText, requestFilterName } from './request-endings.ts';

it('a filter has the word that lists show for its ending', () => {
  const { FAILED, REFUSED, ABORTED } = RequestEnding;
  const names = [FAILED, REFUSED, ABORTED].map((ending) => requestFilterName(endingWords[ending]));
  expect(names).toEqual(['failed', 'rejected', 'client-disconnected']);
});

it('a filter is also known by the name of its value in JSON', () => {
  const names = ['refused', 'MOVED', 'slow', 'aborted', 'odd', 'toString'].map(requestFilterName);
  expect(names).toEqual(['rejected', 'failed-over', 'slow-first-token', 'client-disconnected', undefined, undefined]);
});

it('names the limit that rejected a request', () => {
  const of = (limit: LimitName) => rejectingLimitText({ refusal: create(RefusalSchema, { limit }) });
  expect(of(LimitName.TOKENS_PER_DAY)).toBe('tokens per day');
  expect(of(LimitName.REQUESTS_PER_MINUTE)).toBe('requests per minute');
  expect(rejectingLimitText({})).toBe('');
});
