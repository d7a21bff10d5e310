import { toUpstreamFailure, type UpstreamFailure } from '@gateway/adapter-kit';
import { meaningOf, type ProviderError } from './provider-error.ts';

/**
 * What an error inside a stream means, that is of `response.failed` or of an `error` event. A code that is not known,
 * or none, is the provider's fault.
 * @param windowsResetMs when the account's used-up windows reset, from the rate-limit event of the same stream
 */
export function mapStreamError(error: ProviderError, windowsResetMs: number | undefined): UpstreamFailure {
  const meaning = meaningOf(error) ?? 'server_error';
  return toUpstreamFailure({
    meaning: meaning === 'model_limited' && windowsResetMs !== undefined ? 'limited' : meaning,
    upstreamStatus: 0,
    retryAtMs: error.resetsAtMs ?? windowsResetMs,
  });
}
