import type { MetricsSnapshot } from '@gateway/telemetry';

/** What the supervisor sends to a worker over Node's channel between the two. */
export type ToWorker =
  /** To take nothing new, let running work end within so many milliseconds, and exit. */
  { readonly kind: 'drain'; readonly timeoutMs: number } | { readonly kind: 'read metrics' };

/** What a worker sends to its supervisor. */
export type FromWorker =
  | { readonly kind: 'serving' }
  /** The worker could not start. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'metrics'; readonly metrics: MetricsSnapshot };
