import { hash } from 'node:crypto';

/** Names a session in a pool without telling who it is. Each pool binds a session to an account of its own. */
export function affinityIdOf(pool: string, affinityKey: string): string {
  return hash('sha256', `${pool}\n${affinityKey}`, 'base64url');
}
