import { hash, randomUUID } from 'node:crypto';
import { RecentDigests } from './recent-digests.ts';

/** A lease's id. It names the caller whose share the lease counts against, so that whoever settles it can give it back. */
export function newLeaseId(caller: string): string {
  return caller === '' ? randomUUID() : `${randomUUID()}.${caller}`;
}

/** The caller of a lease; empty when none was named. */
export function callerOfLease(leaseId: string): string {
  return /^[^.]*\.([\w-]{22})$/.exec(leaseId)?.[1] ?? '';
}

/** A caller's key in the form that leases and the store keep, however long it came. Empty stays empty. */
export function toCallerId(caller: string): string {
  return caller === '' ? '' : callerIds.of(caller);
}

const callerIds = new RecentDigests((caller) => hash('sha256', caller, 'base64url').slice(0, 22));
