import { GatewayError } from '@gateway/errors';

/**
 * Throws `invalid_request` for a name that neither format lets a function or a schema have. `path` is where it stands.
 * @see https://platform.openai.com/docs/api-reference/chat/create
 */
export function checkName(name: string, path: string): void {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return;
  const rule = 'must be 1 to 64 letters, digits, underscores and dashes';
  throw new GatewayError('invalid_request', `${path} ${rule}`);
}
