import type { PoolFormat } from '@gateway/config';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';

export function toProviderFormat(format: PoolFormat): ProviderFormat {
  return format === 'responses' ? ProviderFormat.RESPONSES : ProviderFormat.MESSAGES;
}

/** Undefined for unspecified, and for formats of a newer contract. */
export function fromProviderFormat(format: ProviderFormat): PoolFormat | undefined {
  if (format === ProviderFormat.RESPONSES) return 'responses';
  return format === ProviderFormat.MESSAGES ? 'messages' : undefined;
}

/** What an endpoint can speak, always as the same set. Those that are not known are left out; empty: any. */
export function fromProviderFormats(formats: readonly ProviderFormat[]): ReadonlySet<PoolFormat> {
  const takesResponses = formats.includes(ProviderFormat.RESPONSES);
  const takesMessages = formats.includes(ProviderFormat.MESSAGES);
  if (takesResponses) return takesMessages ? both : responses;
  return takesMessages ? messages : anyFormat;
}

/** No format in particular. */
export const anyFormat: ReadonlySet<PoolFormat> = new Set();
const responses: ReadonlySet<PoolFormat> = new Set(['responses']);
const messages: ReadonlySet<PoolFormat> = new Set(['messages']);
const both: ReadonlySet<PoolFormat> = new Set(['responses', 'messages']);
