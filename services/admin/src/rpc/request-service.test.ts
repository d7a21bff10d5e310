import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';
import {
  GetRequestRequestSchema,
  ListRequestsRequestSchema,
  WatchRequestsRequestSchema,
} from '@gateway/proto/admin/v1/request_service_pb.js';
import type { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { type ListRequestsRequest, RequestFilter } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import type { AdminParts } from '../parts.ts';
import { type FakeServices, fakePeers } from '../usage/__fixtures__/fake-peers.ts';
import { requestService } from './request-service.ts';

const id = (end: string) => `01a205af-3cfd-7cc1-9fd7-1b234290${end}`;
const logs: MessageInitShape<typeof RequestRecordedSchema>[] = [
  { requestId: id('0001'), tokenId: 'token-1' },
  { requestId: id('0002'), tokenId: 'token-2', clientRequestId: 'run-17' },
  { requestId: id('ffff'), tokenId: 'gone' },
];
const tokens = [
  { tokenId: 'token-1', label: 'ci' },
  { tokenId: 'token-2', label: 'ci nightly' },
  { tokenId: 'token-22', label: 'ci' },
];

const context = { signal: new AbortController().signal } as HandlerContext;

function setUp(services: FakeServices = {}) {
  const asked: ListRequestsRequest[] = [];
  const report: FakeServices['report'] = {
    listRequests: (request) => {
      asked.push(request);
      const begin = request.search?.requestId ?? '';
      const found = logs.filter(
        ({ requestId = '', clientRequestId = '' }) => requestId.startsWith(begin) || clientRequestId.startsWith(begin),
      );
      // One page at a time; a page may be empty.
      const [place, size] = [Number(request.pageToken), 2];
      const pages = [
        [],
        ...Array.from({ length: Math.ceil(found.length / size) }, (_, n) => found.slice(n * size, (n + 1) * size)),
      ];
      return { requests: pages[place] ?? [], nextPageToken: place + 1 < pages.length ? String(place + 1) : '' };
    },
    findRequest: ({ requestId }) => {
      const log = logs.find((each) => each.requestId === requestId);
      if (requestId === id('abcd')) return { request: { requestId, tokenId: 'token-1' }, inLedger: true };
      return log === undefined ? {} : { request: log, inLedger: true, loggedAtMs: 1_000 };
    },
    ...services.report,
  };
  const { peers, listed } = fakePeers({ tokens, ...services, report });
  return { service: requestService({ peers } as AdminParts), asked, listed };
}

const list = (service: ReturnType<typeof requestService>, fields: MessageInitShape<typeof ListRequestsRequestSchema>) =>
  service.listRequests(create(ListRequestsRequestSchema, { pageToken: '1', ...fields }), context);
const get = (service: ReturnType<typeof requestService>, requestId: string) =>
  service.getRequest(create(GetRequestRequestSchema, { requestId }), context);

describe('a list of requests', () => {
  it('has the labels of tokens, which are asked for once', async () => {
    const { service, asked, listed } = setUp();
    const page = await list(service, { search: { filter: RequestFilter.FAILED } });
    expect(page).toMatchObject({
      requests: [{ tokenLabel: 'ci' }, { tokenLabel: 'ci nightly' }],
      nextPageToken: '2',
    });
    expect(await list(service, { pageToken: '2' })).toMatchObject({ requests: [{ tokenLabel: '' }] });
    await list(service, {});
    expect(listed).toEqual([['token-1', 'token-2'], ['gone']]);
    expect(asked[0]).toMatchObject({ search: { filter: RequestFilter.FAILED }, pageSize: 50, pageToken: '1' });
  });

  it.each([
    ['a label', 'ci', ['token-1', 'token-22']],
    ['an id', 'token-2', ['token-2']],
    ['the beginning of ids', ' token', ['token-1', 'token-2', 'token-22']],
  ])('is of the tokens that %s means', async (_what, token, tokenIds) => {
    const { service, asked } = setUp();
    await list(service, { token, search: { model: 'm' } });
    expect(asked[0]?.search).toMatchObject({ tokenIds, model: 'm' });
  });

  it('is refused for a token that is none, and for a page that is too large', async () => {
    const { service } = setUp();
    await expect(list(service, { token: 'nobody' })).rejects.toSatisfy(isAbout('token'));
    await expect(list(service, { pageSize: 1_001 })).rejects.toSatisfy(isAbout('pageSize'));
  });
});

describe('one request', () => {
  it.each([
    ['0002', 'its id', id('0002')],
    ['0002', 'the id of its chat completion', `chatcmpl-${id('0002')}`],
    ['0002', 'a text with the id in it', `x-request-id: ${id('0002').toUpperCase()}`],
    ['0002', 'the beginning of its id', id('0002').slice(0, -1).concat('2')],
    ['ffff', 'the beginning of the id of its chat completion', `chatcmpl-${id('ffff').slice(0, -3)}`],
    ['0002', 'the id that the client sent', 'run-17'],
  ])('that ends in %s is found by %s', async (end, _what, text) => {
    const { service } = setUp();
    const { request, inLedger, loggedAtMs } = await get(service, text);
    expect({ inLedger, loggedAtMs }).toEqual({ inLedger: true, loggedAtMs: 1_000 });
    expect(request?.request?.requestId).toBe(id(end));
  });

  it('comes from the ledger if the log no longer has it', async () => {
    const answer = await get(setUp().service, id('abcd'));
    expect(answer).toMatchObject({ request: { request: { tokenId: 'token-1' }, tokenLabel: 'ci' }, inLedger: true });
    expect(answer.request?.request?.receivedAtMs).toBeUndefined();
  });

  it('is not guessed', async () => {
    const { service } = setUp();
    await expect(get(service, id('000').slice(0, -1))).rejects.toSatisfy(isAbout('requestId'));
    await expect(get(service, ' ')).rejects.toSatisfy(isAbout('requestId'));
    await expect(get(service, 'nobody')).rejects.toThrow(/no request in the log whose id begins with nobody/);
    await expect(get(service, id('dddd'))).rejects.toThrow(/There is no request/);
  });
});

describe('requests as they end', () => {
  it('are those of the token with that label, with the number of requests left out', async () => {
    const report: FakeServices['report'] = {
      async *watchRequests({ search, mostAtOnce }) {
        expect(mostAtOnce).toBe(12);
        yield { requests: [] };
        yield { requests: search?.tokenIds.map((tokenId) => ({ tokenId })) ?? [], leftOut: 3 };
      },
    };
    const request = create(WatchRequestsRequestSchema, { token: 'ci', mostAtOnce: 12 });
    const messages = await Array.fromAsync(setUp({ report }).service.watchRequests(request, context));
    expect(messages).toMatchObject([
      { requests: [], leftOut: 0 },
      { requests: [{ tokenLabel: 'ci' }, { tokenLabel: 'ci' }], leftOut: 3 },
    ]);
  });
});

/** Has a problem only for this field. */
function isAbout(field: string) {
  return (thrown: { findDetails(schema: typeof InvalidFieldsSchema): { fields: { field: string }[] }[] }) => {
    const fields = thrown.findDetails(InvalidFieldsSchema).flatMap((each) => each.fields);
    return fields.length === 1 && fields[0]?.field === field;
  };
}
