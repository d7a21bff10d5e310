import { Code, ConnectError, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { StoredSession } from './sessions.ts';

/** Who makes a call, as the session or the token with it says. */
export type Caller = OperatorCaller | TokenCaller;

export interface OperatorCaller {
  readonly kind: 'operator';
  /** Empty for the machine's own `gatewayctl`, which is no row of the table. */
  readonly operatorId: string;
  readonly name: string;
  readonly role: Role;
  /** Where the call came from. Empty: from this process. */
  readonly address: string;
}

/** Who has signed in with a caller's token: sees its own usage and nothing else. */
export interface TokenCaller {
  readonly kind: 'token';
  readonly token: Token;
  readonly address: string;
}

/** How a call came. */
export interface Connection {
  /** Where it came from. Empty: not known. */
  readonly address: string;
  readonly isTls: boolean;
}

/** Set on every call that comes over the network. */
export const connectionKey = createContextKey<Connection>({ address: '', isTls: false }, { description: 'connection' });

/** The session of a call that came with one. */
export const sessionKey = createContextKey<StoredSession | undefined>(undefined, { description: 'session' });

/** Set on every call before its handler runs. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' });

/** Who makes this call. @throws ConnectError `unauthenticated` when nobody has signed in. */
export function callerOf({ values }: Pick<HandlerContext, 'values'>): Caller {
  const caller = values.get(callerKey);
  if (caller === undefined) throw new ConnectError('Sign in first.', Code.Unauthenticated);
  return caller;
}
