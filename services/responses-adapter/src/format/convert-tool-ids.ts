import { hash } from 'node:crypto';

const maxCallIdLength = 64;

/**
 * A tool call's id as the provider takes it: itself up to 64 characters, else a hash of it. A call and its output go
 * through here both, so they keep matching; the provider itself hands out ids that it refuses to take back.
 */
export function convertToolId(id: string): string {
  if (id.length <= maxCallIdLength) return id;
  return `call_${hash('sha256', id, 'hex').slice(0, maxCallIdLength - 'call_'.length)}`;
}
