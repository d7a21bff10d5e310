import { create } from '@bufbuild/protobuf';
import { type ListRequestsResponse, RequestSearchSchema } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { type AdminPeers, peerTimeoutMs } from '../parts.ts';
import { invalidFields } from '../rpc/problems.ts';
import { requestListings, searchWithToken } from '../usage/request-listings.ts';
import type { TokenNames } from '../usage/token-names.ts';
import { usagePages } from '../usage/usage-report.ts';
import type { ListedRequest, PricedRow } from './export-columns.ts';
import type { RequestExport, UsageExport } from './export-query.ts';

interface ExportParts {
  readonly peers: Pick<AdminPeers, 'usageReport' | 'poolOperator'>;
  readonly names: TokenNames;
}

const requestsAtATime = 1_000;

/** The rows of a report, a page at a time. */
export async function* usageRowPages(
  { peers, names }: ExportParts,
  { token, token_id: tokenId, format: _, ...asked }: UsageExport,
  signal: AbortSignal,
): AsyncGenerator<readonly PricedRow[]> {
  const { tokenIds = [] } = (await searchWithToken(names, undefined, token, signal)) ?? {};
  if (tokenIds.length > 1) throw invalidFields({ token: `Several tokens are called ${token}. Give the id of one.` });
  const query = { ...asked, tokenId: tokenIds[0] ?? tokenId, compare: false };
  for await (const { rows, currency } of usagePages({ peers, names }, query, signal)) {
    yield rows.map((row) => ({ ...row, currency }));
  }
}

/** The requests that match, newest first, a page at a time. */
export async function* requestPages(
  { peers: { usageReport }, names }: ExportParts,
  { token, search: asked }: RequestExport,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedRequest[]> {
  const search = await searchWithToken(names, create(RequestSearchSchema, asked), token, signal);
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page = { search, pageSize: requestsAtATime, pageToken };
    const options = { timeoutMs: peerTimeoutMs, signal };
    const { requests, nextPageToken }: ListRequestsResponse = await usageReport.listRequests(page, options);
    yield await requestListings(names, requests, signal);
    pageToken = nextPageToken || undefined;
  }
}
