import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import type { AdminParts, AdminPeers } from '../parts.ts';
import { pagesOf, peerCall } from '../peer-calls.ts';
import { requestListings, searchWithToken } from '../usage/request-listings.ts';
import { TokenNames } from '../usage/token-names.ts';
import { invalidFields, notFound } from './problems.ts';

const usualPageSize = 50;
const maxPageSize = 1_000;

/** The request log, and explanations of it. */
export function requestService({ peers }: AdminParts): ServiceImpl<typeof RequestService> {
  const { usageReport } = peers;
  const names = new TokenNames(peers.identity);
  return {
    async listRequests({ search: given, token, pageSize, pageToken }, { signal }) {
      if (pageSize > maxPageSize) throw invalidFields({ pageSize: `Must be at most ${maxPageSize}.` });
      const search = await searchWithToken(names, given, token, signal);
      const page = { search, pageSize: pageSize || usualPageSize, pageToken };
      const { requests, nextPageToken } = await usageReport.listRequests(page, peerCall(signal));
      return { requests: await requestListings(names, requests, signal), nextPageToken };
    },

    async getRequest({ requestId: text }, context) {
      const requestId = await meantRequest(peers, text.trim(), context);
      const found = await usageReport.findRequest({ requestId }, peerCall(context.signal));
      if (found.request === undefined) throw notFound(`request ${requestId} in the log or the ledger`);
      const [request] = await requestListings(names, [found.request], context.signal);
      return { request, inLedger: found.inLedger, loggedAtMs: found.loggedAtMs };
    },

    async *watchRequests({ search: given, token, mostAtOnce }, { signal }) {
      const search = await searchWithToken(names, given, token, signal);
      for await (const { requests, leftOut } of usageReport.watchRequests({ search, mostAtOnce }, { signal })) {
        yield { requests: await requestListings(names, requests, signal), leftOut };
      }
    },
  };
}

/**
 * The id of the one request that a text means. The text is an id, contains one, or is the unique
 * beginning of one.
 */
async function meantRequest({ usageReport }: AdminPeers, text: string, { signal }: HandlerContext): Promise<string> {
  const whole = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/.exec(text.toLowerCase())?.[0];
  if (whole !== undefined) return whole;
  const requestId = text.replace(/^chatcmpl-/, '');
  if (requestId === '') throw invalidFields({ requestId: 'Enter a request id, or the beginning of one.' });
  const asked = { search: { requestId }, pageSize: 2 };
  const found = new Set<string>();
  for await (const page of pagesOf((pageToken) =>
    usageReport.listRequests({ ...asked, pageToken }, peerCall(signal)),
  )) {
    for (const each of page.requests) found.add(each.requestId);
    if (found.size > 1)
      throw invalidFields({ requestId: 'Several request ids begin with this. Enter more of the id.' });
  }
  const [only] = found;
  if (only === undefined) throw notFound(`request in the log whose id begins with ${requestId}`);
  return only;
}
