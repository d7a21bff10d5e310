import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { formatCount } from '@gateway/presentation';
import {
  type AccessRules,
  AccessRulesSchema,
  type Group,
  type Token,
} from '@gateway/proto/identity/v1/identity_service_pb.js';
import { type Limits, LimitsSchema } from '@gateway/proto/limiter/v2/limit_pb.js';

/** The typed limits and rules, which tokens and groups have alike. An empty limit is none. */
export interface TermsDraft {
  readonly requestsPerMinute: string;
  readonly tokensPerDay: string;
  readonly concurrentRequests: string;
  /** Counts only with tokens per day. */
  readonly strictTokens: 'strict' | '';
  /** Models and labels are separated by spaces or commas. Empty: all. */
  readonly models: string;
  readonly accountLabels: string;
}

/** Those that replace all limits when one of them is edited. */
export const limitNames = ['requestsPerMinute', 'tokensPerDay', 'concurrentRequests', 'strictTokens'] as const;

/** Names of these fields in the problems of a request. */
export const termsFieldNames = [...limitNames.map((name) => `limits.${name}`), 'access.models', 'access.accountLabels'];

type WithTerms = Pick<Token | Group, 'limits' | 'access'>;

export function termsDraftOf({ limits, access }: WithTerms): TermsDraft {
  return {
    requestsPerMinute: limits?.requestsPerMinute?.toString() ?? '',
    tokensPerDay: limits?.tokensPerDay?.toString() ?? '',
    concurrentRequests: limits?.concurrentRequests?.toString() ?? '',
    strictTokens: limits?.strictTokens ? 'strict' : '',
    models: access?.models.join(' ') ?? '',
    accountLabels: access?.accountLabels.join(' ') ?? '',
  };
}

/** @param budget which is not a field of every form. */
export function limitsOf(
  { requestsPerMinute, tokensPerDay, concurrentRequests, strictTokens }: TermsDraft,
  budget?: MessageInitShape<typeof LimitsSchema>['budget'],
): Limits {
  return create(LimitsSchema, {
    requestsPerMinute: requestsPerMinute === '' ? undefined : Number(requestsPerMinute),
    tokensPerDay: tokensPerDay === '' ? undefined : Number(tokensPerDay),
    concurrentRequests: concurrentRequests === '' ? undefined : Number(concurrentRequests),
    strictTokens: strictTokens === 'strict' && tokensPerDay !== '',
    budget,
  });
}

export function accessOf({ models, accountLabels }: TermsDraft): AccessRules {
  return create(AccessRulesSchema, { models: wordsOf(models), accountLabels: wordsOf(accountLabels) });
}

/** "gpt-5.5, claude*" as a list. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** Whether one of these fields was edited. */
export function isEdited<D>(before: D, draft: D, names: readonly (keyof D)[]): boolean {
  return names.some((name) => draft[name] !== before[name]);
}

/**
 * The fields that the operator edited, on top of the current state: limits and rules are replaced
 * as a whole, and the others may have changed since the form was opened.
 */
export function editsOn<D extends object>(before: D, draft: D, now: D): D {
  const edited = Object.entries(draft).filter(([name, value]) => value !== before[name as keyof D]);
  return { ...now, ...Object.fromEntries(edited) };
}

/** Names of fields with their texts, for `changedFields`. */
export const termsRows: readonly (readonly [string, (of: WithTerms) => string])[] = [
  ['Requests per minute', ({ limits }) => limitText(limits?.requestsPerMinute)],
  ['Tokens per day', ({ limits }) => `${limitText(limits?.tokensPerDay)}${limits?.strictTokens ? ' (strict)' : ''}`],
  ['Requests at a time', ({ limits }) => limitText(limits?.concurrentRequests)],
  ['Models', ({ access }) => access?.models.join(' ') || 'all'],
  ['Accounts', ({ access }) => access?.accountLabels.join(' ') || 'all'],
];

/** The changes by another person, one line for each field. */
export function changedFields<T>(
  seen: T,
  now: T,
  rows: readonly (readonly [string, (of: T) => string])[],
): readonly string[] {
  return rows.flatMap(([name, textOf]) => {
    const [before, after] = [textOf(seen), textOf(now)];
    return before === after ? [] : [`${name}: ${before} → ${after}`];
  });
}

export function limitText(limit: number | undefined): string {
  return limit === undefined ? 'unlimited' : formatCount(limit);
}
