import type { WatchedProcess } from '../measure/processor-time.ts';

/** Where requests go, and what they are. */
export interface LoadTarget {
  readonly port: number;
  readonly path: string;
  /** Requests take turns among these: one set of headers per token. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  readonly body: string;
  /** Statuses that are no failure: "200" alone by default. */
  readonly accepted?: readonly string[];
}

/**
 * `closed`: so many connections, each sends its next request when the last one is answered. `open`: so many requests a second
 * on a fixed schedule, whatever is answered. `hold`: so many streams are opened and kept.
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
  /** What others send at the same time. Only its failures are reported. */
  readonly beside?: OtherLoad | undefined;
  /** Whose processor time and memory are read where the measured time begins and ends. */
  readonly watched: readonly WatchedProcess[];
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** What others send: one request after the other on so many connections, with a pause after each answer. */
export interface OtherLoad {
  readonly target: LoadTarget;
  readonly connections: number;
  readonly pauseMs: number;
  /** All begin at once, and stay together; otherwise they are spread over the pause. */
  readonly areTogether?: boolean;
}

export interface LoadReport {
  /** Requests that were answered with a status that is accepted, to the end, within the measured time; of `hold`, streams that began. */
  readonly answered: number;
  readonly failed: number;
  /** What the first failure was. */
  readonly firstFailure: string | undefined;
  readonly elapsedMs: number;
  readonly bodyBytes: number;
  /** From the moment a request is written to the end of its answer. */
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
