import {
  type ErrorMeaning,
  toUpstreamFailure,
  type UpstreamErrorAnswer,
  type UpstreamFailure,
} from '@gateway/adapter-kit';
import { parseJson } from '@gateway/json';
import { meaningOf, type ProviderError, readProviderError } from './provider-error.ts';
import { readRateLimit } from './read-retry-at.ts';

/**
 * What an answer with an error status means: the status says it, unless the error's type says better.
 * @see https://platform.claude.com/docs/en/api/errors
 */
export function mapUpstreamError(answer: UpstreamErrorAnswer): UpstreamFailure {
  const text = new TextDecoder().decode(answer.body);
  const error = readProviderError(parseJson(text));
  const meaning = isForeignPage(answer, text) ? 'network' : meaningOfAnswer(answer.status, error);
  const limit = readRateLimit(answer);
  return toUpstreamFailure({
    meaning: meaning === 'limited' && limit.modelScoped ? 'model_limited' : meaning,
    upstreamStatus: answer.status,
    upstreamCode: error.code,
    retryAtMs: limit.retryAtMs,
  });
}

function meaningOfAnswer(status: number, error: ProviderError): ErrorMeaning {
  const rule = ruleOf(status);
  const typed = meaningOf(error);
  return typed !== undefined && rule.orByType.includes(typed) ? typed : rule.meaning;
}

interface StatusRule {
  readonly meaning: ErrorMeaning;
  /** What a known error type may make of it instead. */
  readonly orByType: readonly ErrorMeaning[];
}

const outOfService: readonly ErrorMeaning[] = ['revoked_credential', 'disabled_account'];

/** Accounts without credit, disabled or over their spend limit are refused with 400 too. */
const rejectedRule: StatusRule = {
  meaning: 'rejected',
  orByType: ['context_too_long', 'refused_account', ...outOfService],
};

const statusRules: ReadonlyMap<number, StatusRule> = new Map([
  [400, rejectedRule],
  [401, { meaning: 'refused_account', orByType: outOfService }],
  [402, { meaning: 'refused_account', orByType: [] }],
  [403, { meaning: 'refused_account', orByType: outOfService }],
  // A 404 of the provider names the model, or a thread or file of the request; any other is an address that is not its API.
  [404, { meaning: 'server_error', orByType: ['unknown_model'] }],
  [408, { meaning: 'timeout', orByType: [] }],
  [409, { meaning: 'server_error', orByType: [] }],
  [413, { meaning: 'too_large', orByType: ['context_too_long'] }],
  [422, rejectedRule],
  [429, { meaning: 'limited', orByType: ['model_limited', 'overloaded'] }],
  [529, { meaning: 'overloaded', orByType: [] }],
]);

const otherClientErrorRule: StatusRule = { meaning: 'rejected', orByType: [] };
const serverErrorRule: StatusRule = { meaning: 'server_error', orByType: ['overloaded'] };
const redirectRule: StatusRule = { meaning: 'network', orByType: [] };

function ruleOf(status: number): StatusRule {
  if (status < 400) return redirectRule;
  return statusRules.get(status) ?? (status < 500 ? otherClientErrorRule : serverErrorRule);
}

/** Statuses that mean the same whoever answers: a proxy before the provider limits sizes, rates and times too. */
const statusesOfAnyone: ReadonlySet<number> = new Set([408, 413, 429]);

/** An HTML page with a client error comes from something between us and the provider; the account is not to blame. */
function isForeignPage({ status, headers }: UpstreamErrorAnswer, text: string): boolean {
  if (status >= 500 || statusesOfAnyone.has(status)) return false;
  return /\bhtml\b/i.test(headers['content-type'] ?? '') || text.trimStart().startsWith('<');
}
