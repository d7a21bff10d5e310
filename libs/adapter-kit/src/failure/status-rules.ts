import type { UpstreamErrorAnswer } from '../format-definition.ts';
import type { ErrorMeaning } from './error-meanings.ts';

/**
 * What an error status of a provider means, then the meanings that the error itself, by its code or text, may give it
 * instead.
 */
export type StatusRule = readonly [meaning: ErrorMeaning, ...orByError: ErrorMeaning[]];

/** The rules of one provider format. */
export interface StatusRules {
  readonly byStatus: ReadonlyMap<number, StatusRule>;
  /** Of the other statuses below 500: the request is at fault. */
  readonly otherClientError: StatusRule;
  readonly otherServerError: StatusRule;
}

/**
 * What an answer with an error status means. `ofError` is what its error says; undefined when its body holds none of
 * the provider.
 */
export function meaningOfStatus(
  answer: UpstreamErrorAnswer,
  rules: StatusRules,
  ofError: ErrorMeaning | undefined,
): ErrorMeaning {
  // A 404 without an error: the address is not the provider's API.
  const isForeign = isForeignPage(answer) || (answer.status === 404 && ofError === undefined);
  if (answer.status < 400 || isForeign) return 'network';
  const otherRule = answer.status < 500 ? rules.otherClientError : rules.otherServerError;
  const [meaning, ...orByError] = rules.byStatus.get(answer.status) ?? otherRule;
  return ofError !== undefined && orByError.includes(ofError) ? ofError : meaning;
}

/** An HTML page with a client error comes from something between us and the provider; the account is not to blame. */
function isForeignPage({ status, headers, body }: UpstreamErrorAnswer): boolean {
  if (status >= 500 || statusesOfProxies.has(status)) return false;
  if (/\bhtml\b/i.test(headers['content-type'] ?? '')) return true;
  return new TextDecoder().decode(body).trimStart().startsWith('<');
}

/** A proxy before the provider means the same with them: it limits sizes, rates and times too. */
const statusesOfProxies: ReadonlySet<number> = new Set([408, 413, 429]);
