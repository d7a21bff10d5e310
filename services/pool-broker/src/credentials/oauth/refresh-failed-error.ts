/** There is no new access token now. The message says why, without anything that a provider or a person wrote. */
export class RefreshFailedError extends Error {
  override readonly name = 'RefreshFailedError';
  /** Asking earlier is of no use. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The tokens that were known are stored no more, and the refresh token that the configuration has may have been replaced long ago. */
export class GrantGoneError extends RefreshFailedError {
  constructor() {
    super('what was stored of its tokens is gone');
  }
}
