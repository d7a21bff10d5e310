import { IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { openChannel, Tls } from '@gateway/rpc/grpc';
import { certificateFiles } from './dev-certificates.ts';

export interface FirstToken {
  readonly label: string;
  readonly requestsPerMinute: number;
  readonly tokensPerDay: number;
}

/**
 * A token for trying the gateway, issued by identity itself.
 * @param certificates the folder with certificates, if services speak TLS.
 */
export async function issueToken(
  identityUrl: string,
  { label, ...limits }: FirstToken,
  certificates: string | undefined,
  timeoutMs = 60_000,
): Promise<string> {
  using tls = certificates === undefined ? undefined : new Tls(certificateFiles(certificates, 'admin'));
  using identity = openChannel(identityUrl, { service: 'identity', tls });
  const request = { kind: TokenKind.SERVICE, label, limits };
  const { tokenText } = await identity.client(IdentityService).issue(request, { timeoutMs });
  return tokenText;
}
