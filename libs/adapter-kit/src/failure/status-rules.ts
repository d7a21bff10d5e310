import type { UpstreamErrorAnswer } from '../format-definition.ts';
import type { ErrorMeaning } from './error-meanings.ts';

/**
 * The meaning of a provider's error status, followed by the meanings that the error's code or text
 * may give it instead.
 */
export type StatusRule = readonly [meaning: ErrorMeaning, ...orByError: ErrorMeaning[]];

/** The rules of one provider format. */
export interface StatusRules {
  readonly byStatus: ReadonlyMap<number, StatusRule>;
  /** For all other statuses below 500: the request is wrong. */
  readonly otherClientError: StatusRule;
  readonly otherServerError: StatusRule;
}

/**
 * The meaning of an answer with an error status. `ofError` is the meaning of its error; undefined
 * when its body contains no error of the provider.
 */
export function meaningOfStatus(
  answer: UpstreamErrorAnswer,
  rules: StatusRules,
  ofError: ErrorMeaning | undefined,
): ErrorMeaning {
  // A 404 without an error shows that the address is not the provider's API.
  const isForeign = isForeignPage(answer) || (answer.status === 404 && ofError === undefined);
  if (answer.status < 400 || isForeign) return 'network';
  const otherRule = answer.status < 500 ? rules.otherClientError : rules.otherServerError;
  const [meaning, ...orByError] = rules.byStatus.get(answer.status) ?? otherRule;
  return ofError !== undefined && orByError.includes(ofError) ? ofError : meaning;
}

/** An HTML page with a client error comes from an intermediary, so the account is not the cause. */
function isForeignPage({ status, headers, body }: UpstreamErrorAnswer): boolean {
  if (status >= 500 || statusesOfProxies.has(status)) return false;
  if (/\bhtml\b/i.test(headers['content-type'] ?? '')) return true;
  return new TextDecoder().decode(body).trimStart().startsWith('<');
}

/** A proxy uses these with the provider's meaning: it limits sizes, rates and times too. */
const statusesOfProxies: ReadonlySet<number> = new Set([408, 413, 429]);
