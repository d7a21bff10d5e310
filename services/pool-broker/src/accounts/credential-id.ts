import { hash } from 'node:crypto';
import { type Credential, Secret } from '@gateway/config';

/** Tells a credential from every other, without telling anything of it. */
export function credentialIdOf(credential: Credential): string {
  const members: readonly (readonly [string, unknown])[] = Object.entries(credential);
  const revealed = members.map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]);
  return hash('sha256', JSON.stringify(['gateway credential', revealed]), 'base64url').slice(0, 22);
}
