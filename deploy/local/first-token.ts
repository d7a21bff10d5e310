import { IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { connectClient } from '@gateway/rpc/connect-client';

const limits = { requestsPerMinute: 60, tokensPerDay: 1_000_000n };

/** Issues a token for trying the gateway out. */
export async function issueFirstToken(identityAdminUrl: string): Promise<string> {
  const identity = connectClient(IdentityService, identityAdminUrl);
  const issued = await identity.issue({ kind: TokenKind.SERVICE, label: 'first token', limits }, { timeoutMs: 10_000 });
  return issued.tokenText;
}
