import { GatewayError } from '@gateway/errors';

/**
 * Throws `invalid_request` for a name that the format does not let a tool have. `path` is where it stands.
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
 */
export function checkName(name: string, path: string): void {
  if (/^[a-zA-Z0-9_-]{1,128}$/.test(name)) return;
  throw new GatewayError('invalid_request', `${path} must be 1 to 128 letters, digits, underscores and dashes`);
}
