import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { SessionSchema, SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { type Caller, callerOf, connectionKey, sessionKey } from '../access/caller.ts';
import type { OperatorStore } from '../access/operators.ts';
import { noCookieText } from '../access/session-cookie.ts';
import type { SessionStore, StoredSession } from '../access/sessions.ts';
import type { SignIn } from '../access/sign-in.ts';
import { toOperatorMessage } from './operator-service.ts';

export interface SessionParts {
  readonly signIn: SignIn;
  readonly sessions: SessionStore;
  readonly operators: OperatorStore;
  /** The label of the button for the OpenID Connect provider. Empty if there is no provider. */
  readonly oidcLabel: string;
}

/** Sessions: sign-in, sign-out and the signed-in caller. */
export function sessionService({
  signIn,
  sessions,
  operators,
  oidcLabel,
}: SessionParts): ServiceImpl<typeof SessionService> {
  return {
    getSignInOptions: () => ({ oidcLabel }),

    async signIn({ token }, context) {
      const connection = context.values.get(connectionKey);
      const caller = await signIn.byToken(token.trim(), connection, context.signal);
      const { cookie, session } = await signIn.begin(caller, connection, 'token');
      context.responseHeader.append('set-cookie', cookie);
      return { session: await toSession(caller, session) };
    },

    async signOut(_request, { values, responseHeader }: HandlerContext) {
      const session = values.get(sessionKey);
      if (session === undefined) return {};
      await sessions.end(session);
      responseHeader.append('set-cookie', noCookieText('session', values.get(connectionKey)));
      return {};
    },

    async getSession(_request, context) {
      return { session: await toSession(callerOf(context), context.values.get(sessionKey)) };
    },
  };

  async function toSession(
    caller: Caller,
    session: StoredSession | undefined,
  ): Promise<MessageInitShape<typeof SessionSchema>> {
    const ends = session && { csrfToken: session.csrf_token, expiresAtMs: session.expires_at_ms };
    if (caller.kind === 'token') {
      // The operators' note is not for the token's holder.
      return { holder: { case: 'token', value: { ...caller.token, note: '' } }, ...ends };
    }
    if (caller.kind === 'person') return { holder: { case: 'person', value: caller.person }, ...ends };
    const operator = await operators.find(caller.operatorId);
    return { ...(operator && { holder: { case: 'operator', value: toOperatorMessage(operator) } }), ...ends };
  }
}
