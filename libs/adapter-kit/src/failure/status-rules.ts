import type { UpstreamErrorAnswer } from '../provider-format.ts';
import type { ErrorMeaning } from './upstream-failure.ts';

/** What an error status of a provider means, unless the error's own code says better. */
export interface StatusRule {
  readonly meaning: ErrorMeaning;
  /** The meanings that a known code may give it instead. */
  readonly orByCode: readonly ErrorMeaning[];
}

/** The rules of one provider format. Other statuses below 500 are the request's fault, the rest are the provider's. */
export interface StatusRules {
  readonly byStatus: ReadonlyMap<number, StatusRule>;
  /** What a known code may make of another server error. */
  readonly serverErrorOrByCode: readonly ErrorMeaning[];
}

/** What an answer with an error status means. `coded` is the meaning of the error's code, if that is known. */
export function meaningOfStatus(
  answer: UpstreamErrorAnswer,
  rules: StatusRules,
  coded: ErrorMeaning | undefined,
): ErrorMeaning {
  if (answer.status < 400 || isForeignPage(answer)) return 'network';
  const { meaning, orByCode } = rules.byStatus.get(answer.status) ?? otherRule(answer.status, rules);
  return coded !== undefined && orByCode.includes(coded) ? coded : meaning;
}

function otherRule(status: number, { serverErrorOrByCode }: StatusRules): StatusRule {
  if (status < 500) return { meaning: 'rejected', orByCode: [] };
  return { meaning: 'server_error', orByCode: serverErrorOrByCode };
}

/** An HTML page with a client error comes from something between us and the provider; the account is not to blame. */
function isForeignPage({ status, headers, body }: UpstreamErrorAnswer): boolean {
  if (status >= 500 || statusesOfProxies.has(status)) return false;
  if (/\bhtml\b/i.test(headers['content-type'] ?? '')) return true;
  return new TextDecoder().decode(body).trimStart().startsWith('<');
}

/** A proxy before the provider means the same with them: it limits sizes, rates and times too. */
const statusesOfProxies: ReadonlySet<number> = new Set([408, 413, 429]);
