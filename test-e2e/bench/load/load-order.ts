import type { WatchedProcess } from '../measure/processor-time.ts';

/** The address and the content of requests. */
export interface LoadTarget {
  readonly port: number;
  readonly path: string;
  /** Requests use these in turns: one set of headers per token. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  readonly body: string;
  /** Accepted statuses: only "200" by default. */
  readonly accepted?: readonly string[];
}

/**
 * `closed`: this many connections, each sends its next request when the last one is answered.
 * `open`: this many requests a second on a fixed schedule, whatever is answered. `hold`: this many
 * streams are opened and kept.
 */
export type LoadShape =
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'open'; readonly perSecond: number }
  | { readonly kind: 'hold'; readonly streams: number };

export interface LoadOrder {
  readonly target: LoadTarget;
  readonly shape: LoadShape;
  /** Streams that are opened before, and kept. */
  readonly openStreams?: { readonly target: LoadTarget; readonly count: number } | undefined;
  /** The simultaneous load of other clients. Only its failures are reported. */
  readonly beside?: OtherLoad | undefined;
  /**
   * Processes whose processor time and memory are read at the beginning and the end of the measured
   * time.
   */
  readonly watched: readonly WatchedProcess[];
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/**
 * The load of other clients: one request after the other on this many connections, with a pause
 * after each answer.
 */
export interface OtherLoad {
  readonly target: LoadTarget;
  readonly connections: number;
  readonly pauseMs: number;
  /** Whether all begin at once and stay together; otherwise they are spread over the pause. */
  readonly areTogether?: boolean;
}

export interface LoadReport {
  /**
   * Requests that were answered to the end with an accepted status, within the measured time; for
   * `hold`, streams that began.
   */
  readonly answered: number;
  readonly failed: number;
  /** The first failure. */
  readonly firstFailure: string | undefined;
  readonly elapsedMs: number;
  readonly bodyBytes: number;
  /** From the writing of a request to the end of its answer. */
  readonly latencyMs: Quantiles;
  /** To the first byte of the answer's body. */
  readonly firstByteMs: Quantiles;
  /** Latency of the requests that were sent in each second of the measured time. */
  readonly latencyMsBySecond: readonly Quantiles[];
  /** By process name, within the measured time. */
  readonly processorMicros: Readonly<Record<string, number>>;
  /** By process name, before and after. */
  readonly memoryBeforeKilobytes: Readonly<Record<string, number>>;
  readonly memoryAfterKilobytes: Readonly<Record<string, number>>;
}

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}
