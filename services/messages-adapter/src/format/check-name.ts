import { GatewayError } from '@gateway/errors';

/** Throws `invalid_request`, naming the field, for a name that the Messages format has no letters for. */
export function checkToolName(name: string, field: string): void {
  if (/^[a-zA-Z0-9_-]{1,128}$/.test(name)) return;
  throw new GatewayError('invalid_request', `${field} must be 1 to 128 letters, digits, underscores or hyphens`);
}
