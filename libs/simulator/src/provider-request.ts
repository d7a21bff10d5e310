import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '@gateway/json';

export type FormatName = 'responses' | 'messages';

/** A request as a provider receives it. */
export interface ProviderRequest {
  readonly account: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
  /** The models that the provider currently offers. */
  readonly models: readonly string[];
}

/** An error in neutral terms; each format writes it in its own shape. */
export interface ProviderError {
  readonly status: number;
  /** The provider's name for the kind of error; by default the one that belongs to the status. */
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly message: string;
  readonly param?: string;
  /** Further members of the error object, such as `resets_at`. */
  readonly extra?: JsonObject;
}

/** A request that the provider does not accept. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
  readonly refusal: ProviderError;
  /** Sent instead of the format's usual error body. */
  readonly body: JsonObject | undefined;

  constructor(refusal: ProviderError, body?: JsonObject) {
    super(refusal.message);
    this.refusal = refusal;
    this.body = body;
  }
}
