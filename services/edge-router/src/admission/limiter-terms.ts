import type { Limits } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { Principal } from '../authentication/principal.ts';

/** What the limiter is told of a token with each request. */
export interface LimiterTerms {
  /** The key under which it knows the token. */
  readonly key: string;
  readonly limits: Limits;
}

/** The same for all requests of a principal: the limiter need not look at a text again that it has seen. */
export function limiterTerms(principal: Principal): LimiterTerms {
  const known = terms.get(principal);
  if (known !== undefined) return known;
  const made = { key: `token:${principal.tokenId}`, limits: limiterLimits(principal) };
  terms.set(principal, made);
  return made;
}

/** There is one principal per token for as long as the token is known. */
const terms = new WeakMap<Principal, LimiterTerms>();

function limiterLimits({ limits }: Principal): Limits {
  const { requestsPerMinute, tokensPerDay } = limits;
  return {
    $typeName: 'gateway.limiter.v1.Limits',
    ...(requestsPerMinute === undefined ? undefined : { requestsPerMinute }),
    ...(tokensPerDay === undefined ? undefined : { tokensPerDay: BigInt(tokensPerDay) }),
  };
}
