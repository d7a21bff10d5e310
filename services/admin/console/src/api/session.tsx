import { useMutation, useQuery } from '@connectrpc/connect-query';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { type Session, SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useMemo } from 'react';
import { Failure, Loading } from '../ui/state.tsx';
import { problemOf } from './problem.ts';
import { rememberCsrfToken } from './transport.ts';

/** The signed-in operator, holder of a caller's token, or person without a role. */
export interface Signed {
  readonly session: Session;
  /** An operator's or person's name, or the label of a caller's token. */
  readonly name: string;
  /** Unspecified for all others, who see only their own usage. */
  readonly role: Role;
  /** Whether the signed-in role includes this role. */
  readonly may: (role: Role) => boolean;
  readonly signOut: () => void;
}

const SignedContext = createContext<Signed | undefined>(undefined);

export function useSigned(): Signed {
  const signed = use(SignedContext);
  if (signed === undefined) throw new Error('Only pages inside the frame know who has signed in.');
  return signed;
}

interface GateProps {
  /** The sign-in page. `ended`: the session has ended. */
  readonly signIn: (hasEnded: boolean) => ReactNode;
  readonly children: ReactNode;
}

/** Shows the console when signed in, and the sign-in page otherwise. */
export function SessionGate({ signIn, children }: GateProps) {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(
    SessionService.method.getSession,
    {},
    { staleTime: Number.POSITIVE_INFINITY },
  );
  const end = useMutation(SessionService.method.signOut, { onSettled: () => queries.resetQueries() });
  const session = data?.session;
  rememberCsrfToken(session);
  const signOut = end.mutate;
  const signed = useMemo(() => session && signedOf(session, () => signOut({})), [session, signOut]);
  if (error !== null) {
    const problem = problemOf(error);
    if (problem.kind === 'signed out') return signIn(data !== undefined);
    if (signed === undefined) return <Failure problem={problem} onRetry={() => refetch()} />;
  }
  if (signed === undefined) return <Loading what="your session" />;
  return <SignedContext value={signed}>{children}</SignedContext>;
}

/** When a call fails because the session has ended, fetches the session again. */
export function noticeEndOfSession(queries: QueryClient, error: unknown): void {
  if (problemOf(error).kind !== 'signed out') return;
  void queries.invalidateQueries({ predicate: ({ queryKey, state }) => state.error === null && isSession(queryKey) });
}

function isSession(queryKey: readonly unknown[]): boolean {
  return JSON.stringify(queryKey).includes(SessionService.typeName);
}

function signedOf(session: Session, signOut: () => void): Signed {
  const { holder } = session;
  const role = holder.case === 'operator' ? holder.value.role : Role.UNSPECIFIED;
  return { session, name: nameOf(session), role, signOut, may: (needed) => role >= needed };
}

function nameOf({ holder }: Session): string {
  if (holder.case === 'person') return holder.value.email || holder.value.name;
  return holder.case === 'operator' ? holder.value.name : (holder.value?.label ?? '');
}
