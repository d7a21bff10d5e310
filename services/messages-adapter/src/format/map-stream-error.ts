import { toUpstreamFailure, type UpstreamFailure } from '@gateway/adapter-kit';
import { meaningOf, readProviderError } from './provider-error.ts';

/** What an `error` event inside a stream means. A type that is not known, or none, is the provider's fault. */
export function mapStreamError(event: unknown): UpstreamFailure {
  const error = readProviderError(event);
  const meaning = meaningOf(error) ?? 'server_error';
  return toUpstreamFailure({ meaning, upstreamStatus: 0, upstreamCode: error.code, retryAtMs: undefined });
}
