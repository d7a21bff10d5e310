import type { IncomingMessage } from 'node:http';
import { valuesOf } from '../http/raw-headers.ts';

const defaultVersion = '2023-06-01';

/**
 * The version and beta headers of a Messages request: `partner-…` and `anthropic-…` are two spellings of the same. Of two
 * versions the partner's wins; betas are joined. No other header reaches the provider. @see spec "Versioning"
 */
export function messagesHeaders(request: Pick<IncomingMessage, 'rawHeaders'>): Record<string, string> {
  const { rawHeaders } = request;
  const version =
    nonEmpty(valuesOf(rawHeaders, 'partner-version')) ?? nonEmpty(valuesOf(rawHeaders, 'anthropic-version'));
  const headers: Record<string, string> = { 'partner-version': version ?? defaultVersion };
  const beta = joined(valuesOf(rawHeaders, 'partner-beta'), valuesOf(rawHeaders, 'anthropic-beta'));
  if (beta !== '') headers['partner-beta'] = beta;
  return headers;
}

function nonEmpty(values: readonly string[]): string | undefined {
  return values.find((value) => value !== '');
}

/** Each beta once, in the order in which they were named first. */
function joined(some: readonly string[], others: readonly string[]): string {
  // Most requests name none.
  if (some.length === 0 && others.length === 0) return '';
  const betas = [...some, ...others].flatMap((list) => list.split(',')).map((each) => each.trim());
  return [...new Set(betas)].filter(Boolean).join(',');
}
