/** The limits of one key. They travel with every call. @see spec "Token limits" */
export interface Limits {
  /** Admissions in any 60 seconds. Undefined: not limited; 0: nothing is admitted. */
  readonly requestsPerMinute: number | undefined;
  /** Tokens per local day. Undefined: not limited; 0: nothing is admitted. */
  readonly tokensPerDay: number | undefined;
}

/** Which limits can refuse a request; `request_only` is reported the day budget but never refused by it. */
export type CostKind = 'request_and_tokens' | 'request_only';

export function areUnlimited(limits: Limits): boolean {
  return limits.requestsPerMinute === undefined && limits.tokensPerDay === undefined;
}
