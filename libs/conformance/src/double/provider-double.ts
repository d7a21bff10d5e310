import type { Script } from './script.ts';

/**
 * A provider that answers as it is scripted, in chat completions, Messages and Responses alike, streamed or not. It also knows
 * `/v1/messages/count_tokens` and `/v1/models`. What is not scripted gets a short answer with usage.
 */
export interface ProviderDouble extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** Answers what carries the marker that it gives back; the marker goes into a message's text. */
  script(script: Script): Scripted;
}

export interface Scripted extends Disposable {
  /** Unique text such as `[conformance 7f3a91]`. */
  readonly marker: string;
  /** The requests that carried the marker, as they came to the provider. */
  readonly received: readonly Received[];
  /** Ends when so many requests have come; rejects with the signal. */
  came(requests: number, signal: AbortSignal): Promise<void>;
}

export interface Received {
  readonly path: string;
  /** The key or bearer that the gateway used: which account. */
  readonly credential: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Settles when the answer is over. `hung-up`: the gateway left before its end. */
  readonly outcome: Promise<'sent' | 'hung-up'>;
}
