import type { IncomingMessage } from 'node:http';
import { valuesOf } from '../http/raw-headers.ts';

const defaultVersion = '2023-06-01';

/**
 * The version and beta headers of a Messages request: `partner-…` and `anthropic-…` are two spellings of the same. Of two
 * versions the partner's wins; betas are joined. No other header reaches the provider. @see spec "Versioning"
 */
export function messagesHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): Readonly<Record<string, string>> {
  const values = (name: string) => valuesOf(rawHeaders, name);
  const [version = defaultVersion] = [...values('partner-version'), ...values('anthropic-version')].filter(Boolean);
  const betas = [...values('partner-beta'), ...values('anthropic-beta')].flatMap((value) => value.split(','));
  const beta = [...new Set(betas.map((each) => each.trim()).filter(Boolean))].join(',');
  return { 'partner-version': version, ...(beta === '' ? {} : { 'partner-beta': beta }) };
}
