import { hash } from 'node:crypto';

/** The id of a lease: a name of its own, and the caller whose share it counts against. Empty: no share is counted. */
export function leaseIdOf(name: string, caller: string): string {
  return caller === '' ? name : `${name}.${caller}`;
}

/** The caller that a lease id names; empty when it names none. */
export function callerOfLease(leaseId: string): string {
  return /^[^.]*\.(?<caller>[\w-]{22})$/.exec(leaseId)?.groups?.caller ?? '';
}

/** A caller's key as lease ids and the store keep it, however long it is. Empty stays empty. */
export function toCallerId(caller: string): string {
  return caller === '' ? '' : hash('sha256', caller, 'base64url').slice(0, 22);
}
