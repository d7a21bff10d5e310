import { hash } from 'node:crypto';
import { callerIdLength } from '../store/lease-id.ts';
import { RecentDigests } from './recent-digests.ts';

/** A caller's key in the form that leases and the store keep, however long it came. Empty stays empty. */
export function toCallerId(caller: string): string {
  return caller === '' ? '' : callerIds.of(caller);
}

const callerIds = new RecentDigests((caller) => hash('sha256', caller, 'base64url').slice(0, callerIdLength));
