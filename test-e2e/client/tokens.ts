import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Topology } from '../topologies/topology.ts';

export interface TestToken {
  readonly tokenId: string;
  readonly text: string;
}

export interface TokenOptions {
  readonly kind?: 'service' | 'personal';
  readonly requestsPerMinute?: number;
  readonly tokensPerDay?: number;
}

/** Issues a token as an operator. */
export async function issueToken(
  { operator }: Pick<Topology, 'operator'>,
  { kind = 'service', ...limits }: TokenOptions = {},
): Promise<TestToken> {
  const isService = kind === 'service';
  const { token, tokenText } = await operator.issue({
    kind: isService ? TokenKind.SERVICE : TokenKind.PERSONAL,
    label: 'e2e',
    limits: isService ? limitsOf(limits) : undefined,
  });
  return { tokenId: token?.tokenId ?? '', text: tokenText };
}

/** Replaces both limits: one that is left out is removed. */
export async function setLimits(
  { operator }: Pick<Topology, 'operator'>,
  tokenId: string,
  limits: Pick<TokenOptions, 'requestsPerMinute' | 'tokensPerDay'>,
): Promise<void> {
  await operator.update({ tokenId, limits: limitsOf(limits) });
}

export async function revokeToken({ operator }: Pick<Topology, 'operator'>, tokenId: string): Promise<void> {
  await operator.revoke(tokenId);
}

function limitsOf({ requestsPerMinute, tokensPerDay }: Omit<TokenOptions, 'kind'>) {
  return { requestsPerMinute, tokensPerDay };
}
