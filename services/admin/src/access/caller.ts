import { Code, ConnectError, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Person } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { StoredSession } from './sessions.ts';

/** The caller, from its session or token. */
export type Caller = OperatorCaller | TokenCaller | PersonCaller;

export interface OperatorCaller {
  readonly kind: 'operator';
  /** Empty for the machine's own `gatewayctl`, which has no row in the table. */
  readonly operatorId: string;
  readonly name: string;
  readonly role: Role;
  /** The address of the caller. Empty if the call comes from this process. */
  readonly address: string;
}

/** A caller that signed in with a caller's token: it sees only its own usage. */
export interface TokenCaller {
  readonly kind: 'token';
  readonly token: Token;
  readonly address: string;
}

/** A person without a role: sees the usage of all own tokens, and issues and revokes own tokens. */
export interface PersonCaller {
  readonly kind: 'person';
  readonly person: Person;
  readonly address: string;
}

/** The connection of a call. */
export interface Connection {
  /** The address of the client. Empty if unknown. */
  readonly address: string;
  readonly isTls: boolean;
}

/** Set on every call from the network. */
export const connectionKey = createContextKey<Connection>({ address: '', isTls: false }, { description: 'connection' });

/** The session of a call, if it has one. */
export const sessionKey = createContextKey<StoredSession | undefined>(undefined, { description: 'session' });

/** Set on every call before its handler runs. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' });

/** The caller of this call. @throws ConnectError `unauthenticated` if it has not signed in. */
export function callerOf({ values }: Pick<HandlerContext, 'values'>): Caller {
  const caller = values.get(callerKey);
  if (caller === undefined) throw new ConnectError('Sign in first.', Code.Unauthenticated);
  return caller;
}

/** The person of this call. @throws ConnectError `permission_denied` for other callers. */
export function personOf(context: Pick<HandlerContext, 'values'>): Person {
  const caller = callerOf(context);
  if (caller.kind === 'person') return caller.person;
  throw new ConnectError('Only people who signed in without a role have tokens of their own.', Code.PermissionDenied);
}
