import { type UsedAttempt, usedBy } from '@gateway/presentation/request-usage';
import { requestValues } from '@gateway/presentation/request-values';
import { unpricedIn } from '@gateway/prices';
import { RequestEnding, type RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { UsagePage } from '../usage/usage-report.ts';

/** The value of a cell. */
export type Cell = string | number;

/** The columns of an export in their order, each with the cell of a row. */
export type Columns<T> = Readonly<Record<string, (row: T) => Cell>>;

/** A row of usage, and the currency of its costs. */
export type PricedRow = UsagePage['rows'][number] & Pick<UsagePage, 'currency'>;

/** The same for every grouping and caller. Keys that a grouping does not separate are empty. */
export const usageColumns: Columns<PricedRow> = {
  day: ({ usage }) => usage.localDay,
  token_id: ({ usage }) => usage.tokenId,
  token_label: ({ tokenLabel }) => tokenLabel,
  provider: ({ usage }) => usage.provider,
  model: ({ usage }) => usage.model,
  account_id: ({ usage }) => usage.accountId,
  requests: ({ usage }) => usage.totals.requests,
  input_tokens: ({ usage }) => usage.totals.inputTokens,
  cached_tokens: ({ usage }) => usage.totals.cachedTokens,
  output_tokens: ({ usage }) => usage.totals.outputTokens,
  total_tokens: ({ usage: { totals } }) => totals.inputTokens + totals.outputTokens,
  cost: ({ cost }) => (cost === undefined || isUnpriced(cost) ? '' : decimal(cost.micros)),
  currency: ({ currency }) => currency,
  unpriced_tokens: ({ cost }) => cost?.unpricedTokens ?? '',
  cache_write_5m_tokens: ({ usage }) => usage.totals.cacheWrite5mTokens,
  cache_write_1h_tokens: ({ usage }) => usage.totals.cacheWrite1hTokens,
  cost_computed_afterwards: ({ cost }) => (cost === undefined ? '' : decimal(cost.computedAfterwardsMicros)),
  group_id: ({ usage }) => usage.groupId,
  group_name: ({ groupName }) => groupName ?? '',
  unpriced_calls: ({ cost }) => cost?.unpricedCalls ?? '',
};

/** A log entry with the label of its token. */
export type ListedRequest = RequestRecorded & { readonly tokenLabel: string };

export const requestColumns: Columns<ListedRequest> = {
  received_at: ({ receivedAtMs }) => new Date(receivedAtMs ?? Number.NaN).toISOString(),
  request_id: ({ requestId }) => requestId,
  client_request_id: ({ clientRequestId }) => clientRequestId,
  token_id: ({ tokenId }) => tokenId,
  token_label: ({ tokenLabel }) => tokenLabel,
  endpoint: ({ endpoint }) => endpoint,
  model: ({ model }) => model,
  accounts: ({ attempts }) => attempts.map(({ accountId }) => accountId).join(' '),
  provider_model: ({ attempts }) => attempts.at(-1)?.model ?? '',
  ending: ({ ending }) => (RequestEnding[ending] ?? 'unknown').toLowerCase(),
  status: ({ status }) => status,
  error_code: ({ errorCode }) => errorCode,
  moved: ({ attempts }) => String(attempts.length > 1),
  slow: ({ slow }) => String(slow),
  input_tokens: ofUsed(({ usage }) => usage.inputTokens),
  cached_tokens: ofUsed(({ usage }) => usage.cachedTokens),
  output_tokens: ofUsed(({ usage }) => usage.outputTokens),
  first_byte_ms: ({ times }) => times?.firstByte ?? '',
  total_ms: ({ times }) => times?.ended ?? '',
  cache_write_5m_tokens: ofUsed(({ usage }) => usage.cacheWrite5mTokens),
  cache_write_1h_tokens: ofUsed(({ usage }) => usage.cacheWrite1hTokens),
  cost: ofUsed(({ costMicros }) => (costMicros === undefined ? '' : decimal(costMicros))),
  unpriced_tokens: ofUsed((used) => unpricedOf(used).tokens),
  unpriced_calls: ofUsed((used) => unpricedOf(used).calls),
  // The one that stands above keeps its place.
  ...requestValues,
};

/** Nothing of a row has a price, which is not the same as free of charge. */
function isUnpriced({ micros, unpricedTokens, unpricedCalls }: NonNullable<PricedRow['cost']>): boolean {
  return micros === 0 && unpricedTokens + unpricedCalls > 0;
}

/** A cell about what a request used. Empty if it used nothing. */
function ofUsed(cellOf: (used: UsedAttempt) => Cell): (request: ListedRequest) => Cell {
  return (request) => {
    const used = usedBy(request);
    return used === undefined ? '' : cellOf(used);
  };
}

/** What of the usage had no price. */
function unpricedOf({ usage, costMicros }: UsedAttempt) {
  if (usage.parts.length > 0) return unpricedIn(usage.parts);
  return { tokens: costMicros === undefined ? usage.inputTokens + usage.outputTokens : 0, calls: 0 };
}

/** Millionths as a decimal number, without rounding. */
export function decimal(micros: number): string {
  const digits = String(Math.abs(micros)).padStart(7, '0');
  return `${micros < 0 ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
