import { create } from '@bufbuild/protobuf';
import { RequestSearchSchema } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { AdminPeers } from '../parts.ts';
import { pagesOf, peerCall } from '../peer-calls.ts';
import { invalidFields } from '../rpc/problems.ts';
import { requestListings, searchWithToken } from '../usage/request-listings.ts';
import type { TokenNames } from '../usage/token-names.ts';
import { usagePages } from '../usage/usage-report.ts';
import type { ListedRequest, PricedRow } from './export-columns.ts';
import type { RequestExport, UsageExport } from './export-query.ts';
import { isCharge } from './focus-columns.ts';

interface ExportParts {
  readonly peers: Pick<AdminPeers, 'usageReport' | 'poolOperator' | 'groups'>;
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
  if (tokenIds.length > 1) throw invalidFields({ token: `Several tokens have the label ${token}. Use the id.` });
  const query = { ...asked, tokenId: tokenIds[0] ?? tokenId, compare: false };
  for await (const { rows, currency } of usagePages({ peers, names }, query, signal)) {
    yield rows.map((row) => ({ ...row, currency }));
  }
}

/** The same rows as charges. @throws ConnectError without prices: a charge has a currency */
export async function* chargePages(
  parts: ExportParts,
  asked: UsageExport,
  signal: AbortSignal,
): AsyncGenerator<readonly PricedRow[]> {
  for await (const rows of usageRowPages(parts, asked, signal)) {
    if (rows.some(({ currency }) => currency === '')) {
      throw invalidFields({ format: 'gateway.yaml has no prices, and a charge needs a currency.' });
    }
    yield rows.filter(isCharge);
  }
}

/** The matching requests, newest first, a page at a time. */
export async function* requestPages(
  { peers: { usageReport }, names }: ExportParts,
  { token, search: given }: RequestExport,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedRequest[]> {
  const search = await searchWithToken(names, create(RequestSearchSchema, given), token, signal);
  const asked = { search, pageSize: requestsAtATime };
  const pages = pagesOf((pageToken) => usageReport.listRequests({ ...asked, pageToken }, peerCall(signal)));
  for await (const { requests } of pages) {
    const listings = await requestListings(names, requests, signal);
    yield listings.map(({ request, tokenLabel }) => Object.assign(request, { tokenLabel }));
  }
}
