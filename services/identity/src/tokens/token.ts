/** The limits of a service token. Undefined: not limited. */
export interface TokenLimits {
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerDay?: number | undefined;
}

/** A caller's token, without its text, which only its holder has. */
export interface Token {
  readonly tokenId: string;
  readonly kind: 'service' | 'personal';
  readonly label: string;
  /** Empty for personal tokens. */
  readonly limits: TokenLimits;
  readonly createdAtMs: number;
  /** Undefined while the token is valid. */
  readonly revokedAtMs: number | undefined;
}
