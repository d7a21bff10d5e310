import { randomUUID } from 'node:crypto';

/** An id that no other lease has, anywhere. It names the caller whose share the lease counts against; empty: nobody's. */
export function newLeaseId(caller: string): string {
  return leaseIdOf(randomUUID(), caller);
}

/** The id of a lease that a name tells from all others. So whoever settles it can give the caller its share back. */
export function leaseIdOf(name: string, caller: string): string {
  return caller === '' ? name : `${name}.${caller}`;
}

/** The caller of a lease; empty when none was named. */
export function callerOfLease(leaseId: string): string {
  const dot = leaseId.indexOf('.');
  if (dot < 0 || leaseId.length - dot - 1 !== callerIdLength) return '';
  const caller = leaseId.slice(dot + 1);
  return isCallerId(caller) ? caller : '';
}

/** How long the ids of callers are, which are base64url. */
export const callerIdLength = 22;

function isCallerId(text: string): boolean {
  return /^[\w-]*$/.test(text);
}
