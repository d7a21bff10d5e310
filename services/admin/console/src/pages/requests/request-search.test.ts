import { RequestFilter } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import { exportLink, filtersOf, kinds, requestsLink, searchOf } from './request-search.ts';

describe('filters of requests', () => {
  it('come back from the address they are written to', () => {
    const link = requestsLink({ token: 'ci & more', status: '4xx', kind: 'rejected', model: '' });
    expect(link).toBe('/requests?token=ci+%26+more&status=4xx&kind=rejected');
    expect(filtersOf(new URLSearchParams(link.split('?')[1]))).toMatchObject({
      token: 'ci & more',
      status: '4xx',
      kind: 'rejected',
      model: '',
    });
    expect(requestsLink({})).toBe('/requests');
  });

  it('become a search of the gateway', () => {
    const params =
      'account=responses/a&endpoint=/v1/messages&status=5xx&kind=moved&id=chatcmpl-0199&since=2026-11-22T10:00:00Z';
    const search = searchOf(filtersOf(new URLSearchParams(params)));
    expect(search).toMatchObject({
      accountId: 'responses/a',
      endpoint: '/v1/messages',
      status: 500,
      requestId: '0199',
      filter: RequestFilter.MOVED,
    });
    expect(search.sinceMs).toBe(Date.parse('2026-11-22T10:00:00Z'));
  });

  it('have the words of the list, and accept those of JSON', () => {
    expect(kinds.map(({ label }) => label)).toContain('Failed over');
    const kindOf = (kind: string) => filtersOf(new URLSearchParams({ kind })).kind;
    expect(['moved', 'aborted', 'rejected'].map(kindOf)).toEqual(['failed-over', 'client-disconnected', 'rejected']);
  });

  it('can be had as a file, all of them', () => {
    const filters = filtersOf(new URLSearchParams('token=ci&status=5xx&kind=failed&account=responses/a'));
    expect(exportLink(filters, 'csv')).toBe(
      '/export/requests?token=ci&filter=failed&account_id=responses%2Fa&status=500&format=csv',
    );
  });

  it('are ignored if they are not among the choices', () => {
    const search = searchOf(filtersOf(new URLSearchParams('status=many&kind=odd&since=yesterday')));
    expect(search).toMatchObject({ status: 0, filter: RequestFilter.UNSPECIFIED });
    expect(search.sinceMs).toBeUndefined();
  });
});
