import { type Environment, readSettings } from '@gateway/config/env-reader';
import { UsageError } from '../failures.ts';

/**
 * An address to which keys may go: by TLS, or on this machine. ALLOW_PLAINTEXT=true says that the
 * network in between takes care.
 * @throws UsageError
 */
export function safeAddress(name: string, url: string, env: Environment): string {
  const { protocol, hostname } = new URL(url);
  const isSafe = protocol === 'https:' || isThisMachine(hostname);
  if (isSafe || readSettings(env, (reader) => reader.boolean('ALLOW_PLAINTEXT', false))) return url;
  throw new UsageError(
    `${name}: keys would go to ${hostname} unencrypted. Use https://, or set ALLOW_PLAINTEXT=true if a mesh, a tunnel or a private network protects them.`,
  );
}

/** @param hostname as a parsed URL has it: each IPv4 address is then spelled as "127.0.0.1". */
function isThisMachine(hostname: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost|[\w.-]+\.localhost)$/.test(hostname);
}
