import type { OAuthCredential } from '@gateway/config';
import { originOf } from '../grants/grant.ts';
import type { GrantKey } from '../grants/grant-store.ts';

/** An account whose access tokens are got with a refresh token. */
export interface OAuthAccount {
  /** "<pool>/<name>" */
  readonly id: string;
  readonly pool: string;
  readonly credential: OAuthCredential;
}

export function grantKeyOf({ id, credential }: OAuthAccount): GrantKey {
  return { accountId: id, origin: originOf(credential) };
}
