import {
  type ErrorMeaning,
  toUpstreamFailure,
  type UpstreamErrorAnswer,
  type UpstreamFailure,
} from '@gateway/adapter-kit';
import { parseJson } from '@gateway/json';
import { meaningOf, type ProviderError, readProviderError } from './provider-error.ts';
import { exhaustedWindowsResetMs, readRetryAt } from './read-retry-at.ts';

/**
 * What an answer with an error status means: the status says it, unless the error's code says better.
 * @see https://platform.openai.com/docs/guides/error-codes
 */
export function mapUpstreamError(answer: UpstreamErrorAnswer): UpstreamFailure {
  const text = new TextDecoder().decode(answer.body);
  const error = readProviderError(parseJson(text), answer.nowMs);
  return toUpstreamFailure({
    meaning: isForeignPage(answer, text) ? 'network' : meaningOfAnswer(answer, error),
    upstreamStatus: answer.status,
    retryAtMs: readRetryAt(answer, error),
  });
}

function meaningOfAnswer(answer: UpstreamErrorAnswer, error: ProviderError): ErrorMeaning {
  const rule = ruleOf(answer.status);
  const coded = meaningOf(error);
  const meaning = coded !== undefined && rule.orByCode.includes(coded) ? coded : rule.meaning;
  // A subscription's window holds for the account, whatever the code says.
  return meaning === 'model_limited' && exhaustedWindowsResetMs(answer) !== undefined ? 'limited' : meaning;
}

interface StatusRule {
  readonly meaning: ErrorMeaning;
  /** What a known code may make of it instead. */
  readonly orByCode: readonly ErrorMeaning[];
}

const outOfService: readonly ErrorMeaning[] = ['revoked_credential', 'disabled_account'];

const rejectedRule: StatusRule = {
  meaning: 'rejected',
  orByCode: [
    'context_too_long',
    'bad_image',
    'against_policy',
    'unreadable_reasoning',
    'unknown_model',
    'limited',
    'refused_account',
    ...outOfService,
  ],
};

const statusRules: ReadonlyMap<number, StatusRule> = new Map([
  [400, rejectedRule],
  [401, { meaning: 'refused_account', orByCode: outOfService }],
  [402, { meaning: 'refused_account', orByCode: ['limited', ...outOfService] }],
  [403, { meaning: 'refused_account', orByCode: ['network', 'limited', ...outOfService] }],
  // Chat requests name nothing but the model: any other 404 is an address that is not the provider's API.
  [404, { meaning: 'server_error', orByCode: ['unknown_model'] }],
  [408, { meaning: 'timeout', orByCode: [] }],
  [409, { meaning: 'server_error', orByCode: [] }],
  [413, { meaning: 'too_large', orByCode: rejectedRule.orByCode }],
  [422, rejectedRule],
  [429, { meaning: 'limited', orByCode: ['model_limited', 'refused_account', 'overloaded', ...outOfService] }],
  [529, { meaning: 'overloaded', orByCode: ['limited', 'model_limited'] }],
]);

/** What else the provider refuses is wrong with the request, whoever sends it. */
const otherClientErrorRule: StatusRule = { meaning: 'rejected', orByCode: [] };
const serverErrorRule: StatusRule = { meaning: 'server_error', orByCode: ['overloaded', 'limited', 'model_limited'] };
const redirectRule: StatusRule = { meaning: 'network', orByCode: [] };

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
