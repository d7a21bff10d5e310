/** Who is calling. */
export interface Principal {
  readonly tokenId: string;
  readonly kind: 'service' | 'personal';
  readonly label: string;
  /** Both absent for personal tokens. */
  readonly limits: TokenLimits;
}

export interface TokenLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerDay: number | undefined;
}
