import { create } from '@bufbuild/protobuf';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { expect, it } from 'vitest';
import { requestFacts, requestValues } from './request-values.ts';

it('has a fact for each value that the request has, by the words of its name', () => {
  const attempts = [{ providerRequestId: 'req_1' }, {}, { providerRequestId: 'req_2' }];
  const request = create(RequestRecordedSchema, { clientRequestId: 'run-17', attempts });
  expect(requestFacts(request)).toEqual([
    ['client request id', 'run-17'],
    ['provider request ids', 'req_1 req_2'],
  ]);
});

it('has no fact for what the request does not have', () => {
  const nothing = create(RequestRecordedSchema);
  expect(requestFacts(nothing)).toEqual([]);
  expect(Object.values(requestValues).map((of) => of(nothing))).toEqual(Object.keys(requestValues).map(() => ''));
});
