/**
 * Why an exchange with a provider broke off. `malformed`: what came is no whole answer. `too_large`: it is larger than the bound on an
 * answer. `cancelled`: our side gave up.
 */
export type UpstreamErrorKind = 'network' | 'timeout' | 'malformed' | 'too_large' | 'cancelled';

/** An exchange that broke off. Its text goes to the log at most. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly kind: UpstreamErrorKind;

  constructor(kind: UpstreamErrorKind, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }
}
