import { create } from '@bufbuild/protobuf';
import { RequestEnding, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { expect, it } from 'vitest';
import { outcomeOf, usedBy } from './request-usage.ts';

it('the usage of a request is that of its last attempt with usage', () => {
  const givenUp = { accountId: 'pool/a', usage: { outputTokens: 9 }, costMicros: 90 };
  const answered = { accountId: 'pool/b', usage: { outputTokens: 7 }, costMicros: 70 };
  const used = (...attempts: object[]) => usedBy(create(RequestRecordedSchema, { attempts }));
  expect(used(givenUp, answered)).toMatchObject(answered);
  expect(used(givenUp, { accountId: 'pool/c' })).toMatchObject(givenUp);
  expect(used({ accountId: 'pool/c' })).toBeUndefined();
});

it('the ledger has one outcome for each ending, and for a request without one', () => {
  const { COMPLETED, ABORTED, FAILED, REFUSED, UNSPECIFIED } = RequestEnding;
  const outcomes = [COMPLETED, ABORTED, FAILED, REFUSED, UNSPECIFIED].map((ending) => outcomeOf({ ending }));
  expect(outcomes).toEqual(['completed', 'aborted', 'failed', 'failed', 'lost']);
});
