import { createHash } from 'node:crypto';
import type { OAuthCredential, Secret } from '@gateway/config';

/** The tokens that an account has at the moment, and how things stand with them. */
export interface Grant {
  /** One more with each change. 0: nothing was stored yet. */
  readonly version: number;
  readonly refreshToken: Secret;
  readonly access: AccessToken | undefined;
  /** Why the account can't be used until a person acts. */
  readonly problem: string | undefined;
}

export interface AccessToken {
  readonly token: Secret;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/** Tells credentials apart without telling anything of them. */
export function originOf({ refreshToken, tokenUrl, clientId }: OAuthCredential): string {
  const parts = JSON.stringify(['gateway grant', tokenUrl, clientId, refreshToken.reveal()]);
  return createHash('sha256').update(parts).digest('hex').slice(0, 32);
}

/** The grant as the configuration gives it, before any refresh. */
export function newGrant({ refreshToken }: OAuthCredential): Grant {
  return { version: 0, refreshToken, access: undefined, problem: undefined };
}
