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

/** Issues a token the way an operator's HTTP client would: a JSON call on the admin port. */
export async function issueToken(
  { adminUrl }: Pick<Topology, 'adminUrl'>,
  options: TokenOptions = {},
): Promise<TestToken> {
  const { kind = 'service', requestsPerMinute, tokensPerDay } = options;
  const answer = await callIdentity(adminUrl, 'Issue', {
    kind: kind === 'service' ? 'TOKEN_KIND_SERVICE' : 'TOKEN_KIND_PERSONAL',
    label: 'e2e',
    limits: kind === 'service' ? { requestsPerMinute, tokensPerDay: tokensPerDay?.toString() } : undefined,
  });
  return { tokenId: answer.token.tokenId, text: answer.tokenText };
}

/** Sets both limits anew: one that is left out is no longer set. */
export async function setLimits(
  { adminUrl }: Pick<Topology, 'adminUrl'>,
  tokenId: string,
  { requestsPerMinute, tokensPerDay }: Pick<TokenOptions, 'requestsPerMinute' | 'tokensPerDay'>,
): Promise<void> {
  const limits = { requestsPerMinute, tokensPerDay: tokensPerDay?.toString() };
  await callIdentity(adminUrl, 'SetLimits', { tokenId, limits });
}

export async function revokeToken({ adminUrl }: Topology, tokenId: string): Promise<void> {
  await callIdentity(adminUrl, 'Revoke', { tokenId });
}

interface IssueAnswer {
  readonly token: { readonly tokenId: string };
  readonly tokenText: string;
}

async function callIdentity(adminUrl: string, method: string, body: object): Promise<IssueAnswer> {
  const response = await fetch(`${adminUrl}/gateway.identity.v1.IdentityService/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`${method} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as IssueAnswer;
}
