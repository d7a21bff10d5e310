import type { AccessRules } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Limits } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { Command } from 'commander';
import { commaList } from './comma-list.ts';
import { numberOrNone } from './flags.ts';

/** What flags say about a token or a group. Unset: unchanged. */
export interface TermFlags {
  readonly rpm?: number | 'none';
  readonly tpd?: number | 'none';
  readonly concurrent?: number | 'none';
  readonly strict?: boolean;
  readonly budget?: Limits['budget'] | 'none';
  readonly models?: readonly string[] | 'none';
  readonly accountLabels?: readonly string[] | 'none';
  readonly note?: string;
}

/** Adds the flags that tokens and groups have alike. */
export function withTerms(command: Command): Command {
  return command
    .option('--rpm <number>', 'requests per minute, or none; 0 rejects all', numberOrNone(0, maxRequests))
    .option('--tpd <number>', 'tokens per day, or none; 0 rejects every request', numberOrNone(0))
    .option('--strict', 'requests reserve tokens per day before they run')
    .option('--no-strict', 'requests run while tokens of the day are left (the default)')
    .option('--concurrent <number>', 'requests at the same time, or none', numberOrNone(0, maxRequests))
    .option('--models <patterns>', 'models and classes that may be used, separated by commas, or none', listOrNone)
    .option('--account-labels <labels>', 'accounts with one of these labels, separated by commas, or none', listOrNone)
    .option('--note <text>', 'note, visible to operators only');
}

/** The greatest number of requests, per minute or at a time. */
const maxRequests = 2 ** 32 - 1;

/**
 * The limits with the changes of flags; undefined without any. Limits are replaced as a whole: one
 * without a flag is sent unchanged.
 */
export function changedLimits(flags: TermFlags, limits: Partial<Limits> = {}) {
  const { rpm, tpd, concurrent, budget, strict } = flags;
  if ([rpm, tpd, concurrent, budget, strict].every((flag) => flag === undefined)) return undefined;
  return {
    requestsPerMinute: withoutNone(rpm ?? limits.requestsPerMinute),
    tokensPerDay: withoutNone(tpd ?? limits.tokensPerDay),
    concurrentRequests: withoutNone(concurrent ?? limits.concurrentRequests),
    budget: withoutNone(budget ?? limits.budget),
    strictTokens: strict ?? (tpd !== 'none' && limits.strictTokens === true),
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

/** What follows the tokens per day. */
export function strictText(limits: Partial<Limits> | undefined): string {
  return limits?.strictTokens ? ' (strict)' : '';
}

/** A list separated by commas, or none. */
function listOrNone(text: string): readonly string[] | 'none' {
  return text === 'none' ? text : commaList(text);
}

function withoutNone<T>(value: T | 'none' | undefined): T | undefined {
  return value === 'none' ? undefined : value;
}
