import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RequestEnding, type RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RequestFilter } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';

/** One word for each ending, in lists and filters alike. */
export const endingWords: Readonly<Record<RequestEnding, string>> = {
  [RequestEnding.UNSPECIFIED]: 'ended',
  [RequestEnding.COMPLETED]: 'completed',
  [RequestEnding.REFUSED]: 'rejected',
  [RequestEnding.FAILED]: 'failed',
  [RequestEnding.ABORTED]: 'client disconnected',
};

/** The filters of requests, by their words with hyphens, as commands and addresses have them. */
export const requestFilters = {
  failed: RequestFilter.FAILED,
  rejected: RequestFilter.REFUSED,
  'failed-over': RequestFilter.MOVED,
  'slow-first-token': RequestFilter.SLOW,
  'client-disconnected': RequestFilter.ABORTED,
} as const;

export type RequestFilterName = keyof typeof requestFilters;

/** The name of a filter. The names of its values in JSON are accepted too. */
export function requestFilterName(text: string): RequestFilterName | undefined {
  const name = text.trim().toLowerCase().replaceAll(' ', '-');
  if (Object.hasOwn(requestFilters, name)) return name as RequestFilterName;
  return Object.hasOwn(otherNames, name) ? otherNames[name] : undefined;
}

const otherNames: Readonly<Record<string, RequestFilterName>> = {
  refused: 'rejected',
  moved: 'failed-over',
  slow: 'slow-first-token',
  aborted: 'client-disconnected',
};

/** The limit of the token that rejected a request: "tokens per day". Empty: none did. */
export function rejectingLimitText({ refusal }: Pick<RequestRecorded, 'refusal'>): string {
  return limitNames[refusal?.limit ?? LimitName.UNSPECIFIED];
}

const limitNames: Readonly<Record<LimitName, string>> = {
  [LimitName.UNSPECIFIED]: '',
  [LimitName.REQUESTS_PER_MINUTE]: 'requests per minute',
  [LimitName.TOKENS_PER_DAY]: 'tokens per day',
  [LimitName.GROUP_REQUESTS_PER_MINUTE]: 'requests per minute of its group',
  [LimitName.GROUP_TOKENS_PER_DAY]: 'tokens per day of its group',
  [LimitName.BUDGET]: 'budget',
  [LimitName.CONCURRENCY]: 'requests at a time',
};
