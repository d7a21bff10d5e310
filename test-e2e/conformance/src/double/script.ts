/**
 * The double's answer to one request, independent of formats: it is written in the format of the
 * gateway's request. A request names its script by `marker`, somewhere in the texts of its
 * messages.
 */
export interface Script {
  readonly parts?: readonly Part[];
  readonly finish?: 'stop' | 'length' | 'tool-calls' | 'content-filter';
  readonly usage?: Usage;
  /** Waits in milliseconds before the first byte, and between events. */
  readonly firstByteAfterMs?: number;
  readonly eventEveryMs?: number;
  /** Instead of an answer, or in the middle of one. */
  readonly fault?: Fault;
  /**
   * The number of requests that get the fault, if they match it; all by default. Later ones are
   * answered normally.
   */
  readonly faultForFirst?: number;
}

export type Part =
  | {
      readonly kind: 'text';
      readonly text: string;
      /** Pieces in a stream; one for each word by default. */
      readonly pieces?: readonly string[];
    }
  | { readonly kind: 'reasoning'; readonly text: string }
  | {
      readonly kind: 'tool-call';
      readonly id: string;
      readonly name: string;
      /** JSON text. */
      readonly arguments: string;
    };

/** Tokens. `input` includes `cached`, `output` includes `reasoning`. */
export interface Usage {
  readonly input: number;
  readonly cached?: number;
  readonly output: number;
  readonly reasoning?: number;
}

export type Fault =
  | {
      readonly kind: 'refuse';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly message?: string;
    }
  /** On any connection, only on a new one, or only on one that has answered before. */
  | { readonly kind: 'cut-before-answer'; readonly connection?: 'new' | 'reused' }
  | { readonly kind: 'cut-after-events'; readonly events: number }
  | { readonly kind: 'error-event-after'; readonly events: number; readonly message: string }
  | { readonly kind: 'silent-after-events'; readonly events: number };
