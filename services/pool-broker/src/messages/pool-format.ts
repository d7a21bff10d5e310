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
