import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type ListTracesRequestSchema,
  RequestEnding,
  RequestTraceService,
  TraceFilter,
} from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { directClientOf } from '@gateway/rpc';
import { systemClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { operatorRoutes } from '../routes.ts';
import { TracedRequest } from '../trace/__fixtures__/traced-request.ts';
import { RecentTraces } from '../trace/recent-traces.ts';
import { RecentRequests } from '../usage/recent-requests.ts';

const traces = new RecentTraces({ capacity: 100, slowMs: 1_000 });
const client = directClientOf(operatorRoutes(traces, new RecentRequests(systemClock)), RequestTraceService);

const served = (traced: TracedRequest) => {
  traces.begin(traced.trace);
  if (traced.story.end !== undefined) traces.end(traced.trace);
};
served(new TracedRequest('plain', 1).read('gateway/sterk', 'one').lease('a').answer().end());
served(new TracedRequest('moved', 2).read().lease('a').fail(AttemptResult.RATE_LIMITED, 429).lease('b').answer().end());
served(new TracedRequest('failed', 3).read('other').exhaust(9_000).end({ status: 429, errorCode: 'pool_exhausted' }));
served(new TracedRequest('slow', 4).read().lease('a').wait(1_000).answer().end());
served(new TracedRequest('refused', 5).read('other').end({ status: 400, errorCode: 'invalid_json' }));
served(new TracedRequest('aborted', 6).read().end({ status: 499, clientLeft: true }));
served(new TracedRequest('running', 7).read().lease('a'));

describe('operators', () => {
  const idsOf = async (request: MessageInitShape<typeof ListTracesRequestSchema>) =>
    (await client.listTraces(request)).traces.map(({ requestId }) => requestId);

  it('get the trace of a request by its id', async () => {
    const { trace } = await client.getTrace({ requestId: 'moved' });
    expect(trace).toMatchObject({
      requestId: 'moved',
      ending: RequestEnding.COMPLETED,
      status: 200,
      moved: true,
      attempts: [
        { accountId: 'pool/a', result: AttemptResult.RATE_LIMITED, upstreamStatus: 429 },
        { accountId: 'pool/b', result: AttemptResult.SUCCEEDED, skipped: [{ count: 3 }] },
      ],
    });
    expect((await client.getTrace({ requestId: 'nobody' })).trace).toBeUndefined();
  });

  it('get why there was no account', async () => {
    const { trace } = await client.getTrace({ requestId: 'failed' });
    expect(trace?.noAccount?.retryAt).toEqual(timestampFromMs(9_000));
    expect(trace).toMatchObject({ ending: RequestEnding.FAILED, errorCode: 'pool_exhausted', attempts: [] });
  });

  it.each([
    [TraceFilter.UNSPECIFIED, ['running', 'aborted', 'refused', 'slow', 'failed', 'moved', 'plain']],
    [TraceFilter.FAILED, ['failed']],
    [TraceFilter.MOVED, ['moved']],
    [TraceFilter.SLOW, ['slow']],
    [TraceFilter.REFUSED, ['refused']],
    [TraceFilter.ABORTED, ['aborted']],
    [TraceFilter.RUNNING, ['running']],
  ])('list requests by filter %s', async (filter, ids) => {
    expect(await idsOf({ filter })).toEqual(ids);
  });

  it('list requests by token, by model as it was asked or sent, by time, and only so many', async () => {
    expect(await idsOf({ tokenId: 'one' })).toEqual(['plain']);
    expect(await idsOf({ model: 'other' })).toEqual(['refused', 'failed']);
    expect(await idsOf({ model: 'gpt-5.5' })).toEqual(['running', 'slow', 'moved', 'plain']);
    expect(await idsOf({ since: timestampFromMs(3), until: timestampFromMs(5) })).toEqual(['slow', 'failed']);
    expect(await idsOf({ limit: 2 })).toEqual(['running', 'aborted']);
    await expect(idsOf({ limit: 1_001 })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
