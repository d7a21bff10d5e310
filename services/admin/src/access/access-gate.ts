import { hash, timingSafeEqual } from 'node:crypto';
import type { DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError, type ContextValues, type HandlerContext, type Interceptor } from '@connectrpc/connect';
import { SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { epochMs, isWithin } from '@gateway/time';
import { nameOf, personName } from './audit-trail.ts';
import { type Caller, type Connection, callerKey, connectionKey, sessionKey } from './caller.ts';
import { mayCall, type Permission, permissionOf } from './permissions.ts';
import type { Refusals } from './refusals.ts';
import { roleNameOf } from './role-names.ts';
import { noCookieText, readCookie } from './session-cookie.ts';
import type { SessionStore, StoredSession } from './sessions.ts';
import type { SignIn } from './sign-in.ts';

export interface GateParts {
  readonly signIn: SignIn;
  readonly sessions: SessionStore;
  readonly refusals: Refusals;
}

/** A signed-in caller. It has no session if the call brought a token. */
export interface Signed {
  readonly caller: Caller;
  readonly session?: StoredSession | undefined;
}

/** The credentials of a call. */
export interface Credentials {
  readonly authorization: string | null | undefined;
  readonly cookie: string | null | undefined;
}

/** Authenticates and authorizes calls, before their message is read. */
export class AccessGate {
  readonly #parts: GateParts;

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /**
   * The caller, or undefined if the call brings neither a token nor a session. @throws ConnectError
   * if its token or session is invalid
   */
  async signed(from: Credentials, connection: Connection, signal: AbortSignal): Promise<Signed | undefined> {
    const { signIn, sessions, refusals } = this.#parts;
    if (from.authorization) {
      const [, tokenText = ''] = /^Bearer +(\S+)$/i.exec(from.authorization) ?? [];
      return { caller: await signIn.byToken(tokenText, connection, signal) };
    }
    const secret = readCookie(from.cookie, 'session', connection);
    if (secret === undefined) return undefined;
    const session = await sessions.use(secret);
    const caller = session && (await signIn.bySession(session, connection, signal));
    if (caller !== undefined) return { caller, session };
    const { address } = connection;
    await refusals.note({ reason: 'session', actor: '', address, subject: 'a session that has ended' });
    throw new ConnectError('The session has expired. Sign in again.', Code.Unauthenticated, {
      'set-cookie': noCookieText('session', connection),
    });
  }

  /**
   * Checks that a signed-in caller has a permission. `what` names the action in the audit log.
   * @throws ConnectError if the caller lacks it
   */
  async allow({ caller }: Signed, permission: Permission | undefined, what: string): Promise<void> {
    if (permission !== undefined && mayCall(caller, permission)) return;
    await this.#refuse('role', caller, what, `${identityText(caller)} ${needText(what, permission)}`);
  }

  /** Runs for each RPC, before its message is read. Tells the handler who the caller is. */
  async check({ method, requestHeader, values, signal }: CheckedCall): Promise<void> {
    const permission = permissionOf(method);
    if (permission === 'open') return;
    const from = { authorization: requestHeader.get('authorization'), cookie: requestHeader.get('cookie') };
    const signed = await this.signed(from, values.get(connectionKey), signal);
    if (signed === undefined) throw new ConnectError('Sign in first.', Code.Unauthenticated);
    const what = `${method.parent.name}.${method.name}`;
    // Pages learn the CSRF token from GetSession; pages of other sites can't read its answer.
    const token = method === SessionService.method.getSession ? undefined : signed.session?.csrf_token;
    if (token !== undefined && !isSame(token, requestHeader.get('x-csrf-token') ?? '')) {
      const text = 'The call lacks the x-csrf-token of its session. Reload the page.';
      await this.#refuse('csrf', signed.caller, what, text);
    }
    await this.allow(signed, permission, what);
    values.set(callerKey, signed.caller).set(sessionKey, signed.session);
  }

  /** Ends streams of callers who lose their permission: checks again every few seconds. */
  readonly endStreams: Interceptor = (next) => async (request) => {
    const response = await next(request);
    if (!response.stream) return response;
    const { method, header: requestHeader, contextValues: values, signal } = request;
    const checkAgain = () => this.check({ method, requestHeader, values, signal });
    return { ...response, message: checked(response.message, checkAgain) };
  };

  async #refuse(reason: 'role' | 'csrf', caller: Caller, what: string, text: string): Promise<never> {
    await this.#parts.refusals.note({ reason, actor: nameOf(caller), address: caller.address, subject: what });
    throw new ConnectError(text, Code.PermissionDenied);
  }
}

/** "You are vera (operator)." */
function identityText(caller: Caller): string {
  if (caller.kind === 'token') return `You are signed in with the token ${caller.token.label} of a client.`;
  if (caller.kind === 'person') return `You are ${personName(caller.person)} (no role).`;
  return `You are ${caller.name} (${roleNameOf(caller.role) ?? 'no role'}).`;
}

function needText(what: string, permission: Permission | undefined): string {
  if (permission === 'person') return `${what} is for people who have no role.`;
  const role = typeof permission === 'number' ? roleNameOf(permission) : undefined;
  return role === undefined ? `No one may call ${what}.` : `${what} needs the role ${role}.`;
}

type CheckedCall = Pick<HandlerContext, 'requestHeader' | 'signal'> & {
  readonly method: DescMethod;
  readonly values: ContextValues;
};

async function* checked<T>(messages: AsyncIterable<T>, check: () => Promise<void>): AsyncGenerator<T> {
  let checkedMs = epochMs();
  for await (const message of messages) {
    if (!isWithin(recheckMs, checkedMs, epochMs())) {
      await check();
      checkedMs = epochMs();
    }
    yield message;
  }
}

const recheckMs = 5_000;

function isSame(expected: string, given: string): boolean {
  return timingSafeEqual(hash('sha256', expected, 'buffer'), hash('sha256', given, 'buffer'));
}
