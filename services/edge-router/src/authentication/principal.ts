/** Who is calling. */
export interface Principal {
  readonly tokenId: string;
  /** What the broker knows a token by: the same for every request of it, and nothing can be read from it. */
  readonly caller: string;
  readonly kind: 'service' | 'personal';
  readonly label: string;
  /** Both absent for personal tokens. */
  readonly limits: TokenLimits;
}

export interface TokenLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerDay: number | undefined;
}
