import { create } from '@bufbuild/protobuf';
import { type Limits, LimitsSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { Principal } from '../authentication/principal.ts';

/** The key under which the limiter knows a token, and its limits. */
export interface LimiterTerms {
  readonly key: string;
  readonly limits: Limits;
}

export function limiterTerms({ tokenId, limits: { requestsPerMinute, tokensPerDay } }: Principal): LimiterTerms {
  const limits = create(LimitsSchema, {
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerDay === undefined ? {} : { tokensPerDay: BigInt(tokensPerDay) }),
  });
  return { key: `token:${tokenId}`, limits };
}
