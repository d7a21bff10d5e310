import type { AccessRules } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Limits } from '@gateway/proto/limiter/v2/limit_pb.js';
import { commaList } from './comma-list.ts';

/** What flags say about limits and rules of a token or a group. Unset: unchanged. */
export interface TermFlags {
  readonly rpm?: number | 'none';
  readonly tpd?: number | 'none';
  readonly concurrent?: number | 'none';
  readonly budget?: Limits['budget'] | 'none';
  readonly models?: readonly string[] | 'none';
  readonly accountLabels?: readonly string[] | 'none';
}

/** The greatest number of requests, per minute or at a time. */
export const maxRequests = 2 ** 32 - 1;

/**
 * The limits with the changes of flags; undefined without any. Limits are replaced as a whole: one
 * without a flag is sent unchanged.
 */
export function changedLimits(flags: TermFlags, limits: Partial<Limits> = {}) {
  const { rpm, tpd, concurrent, budget } = flags;
  if ([rpm, tpd, concurrent, budget].every((flag) => flag === undefined)) return undefined;
  return {
    requestsPerMinute: withoutNone(rpm ?? limits.requestsPerMinute),
    tokensPerDay: withoutNone(tpd ?? limits.tokensPerDay),
    concurrentRequests: withoutNone(concurrent ?? limits.concurrentRequests),
    budget: withoutNone(budget ?? limits.budget),
  };
}

/** The same for rules. */
export function changedAccess({ models, accountLabels }: TermFlags, access?: Partial<AccessRules>) {
  if (models === undefined && accountLabels === undefined) return undefined;
  return {
    models: [...(withoutNone(models ?? access?.models) ?? [])],
    accountLabels: [...(withoutNone(accountLabels ?? access?.accountLabels) ?? [])],
  };
}

/** A list separated by commas, or none. */
export function listOrNone(text: string): readonly string[] | 'none' {
  return text === 'none' ? text : commaList(text);
}

function withoutNone<T>(value: T | 'none' | undefined): T | undefined {
  return value === 'none' ? undefined : value;
}
