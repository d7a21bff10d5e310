import { hash } from 'node:crypto';
import { RecentDigests } from './recent-digests.ts';

/** Names a session in a pool without telling who it is. Each pool binds a session to an account of its own. */
export function affinityIdOf(pool: string, affinityKey: string): string {
  return digests.of(`${pool}\n${affinityKey}`);
}

// Each request of a session asks at its beginning and at its end.
const digests = new RecentDigests((text) => hash('sha256', text, 'base64url'));
