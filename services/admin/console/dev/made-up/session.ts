import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type Operator, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import type { SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { operators } from './operators.ts';

/**
 * "gw_a_viewer", "gw_a_operator" and "gw_a_admin" sign in with these roles, "gw_s_ci" as the holder
 * of a caller's token, "gw_p_dana" as a person without a role.
 */
export const sessionService: Partial<ServiceImpl<typeof SessionService>> = {
  getSignInOptions: () => ({ oidcLabel: 'Continue with Entra ID' }),
  signIn({ token }) {
    if (!known.includes(token)) throw new ConnectError('The token is not known.', Code.Unauthenticated);
    sessionStorage.setItem(key, token);
    return { session: sessionOf(token) };
  },
  signOut() {
    sessionStorage.removeItem(key);
    return {};
  },
  getSession() {
    const token = sessionStorage.getItem(key);
    if (token === null) throw new ConnectError('Sign in first.', Code.Unauthenticated);
    return { session: sessionOf(token) };
  },
};

export function hasSession(): boolean {
  return sessionStorage.getItem(key) !== null;
}

const key = 'made-up-session';
const known = ['gw_a_viewer', 'gw_a_operator', 'gw_a_admin', 'gw_s_ci', 'gw_p_dana'];

function sessionOf(token: string) {
  const ends = { csrfToken: 'made-up', expiresAtMs: Date.now() + 8 * 3_600_000 };
  if (token === 'gw_s_ci') {
    const limits = { requestsPerMinute: 60, tokensPerDay: 2_000_000 };
    const value = { tokenId: '7d0c2f44-5b1e-4a53-9c3e-0f5c7a2b9e11', kind: TokenKind.SERVICE, label: 'ci', limits };
    return { ...ends, holder: { case: 'token' as const, value } };
  }
  if (token === 'gw_p_dana') {
    return { ...ends, holder: { case: 'person' as const, value: { email: 'dana@example.nl', name: 'Dana de Vries' } } };
  }
  const role = { gw_a_viewer: Role.VIEWER, gw_a_operator: Role.OPERATOR }[token] ?? Role.ADMIN;
  const value = operators.find((operator: Operator) => operator.role === role);
  if (value === undefined) throw new ConnectError('No operator of that role.', Code.Internal);
  return { ...ends, holder: { case: 'operator' as const, value } };
}
