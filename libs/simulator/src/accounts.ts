import type { IncomingHttpHeaders } from 'node:http';
import type { FormatName } from './provider-format.ts';

/** The credential of a request, which is also its account's id; undefined when there is none. */
export function credentialOf(headers: IncomingHttpHeaders, format: FormatName): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  const apiKey = headers['x-api-key'];
  const key = typeof apiKey === 'string' && apiKey !== '' ? apiKey : undefined;
  return format === 'messages' ? (key ?? bearer) : (bearer ?? key);
}

/** The headers of a request as they may be kept: without any credential. */
export function maskCredentials(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, secretHeaders.has(name) ? '***' : String(value)]),
  );
}

const secretHeaders: ReadonlySet<string> = new Set([
  ...['authorization', 'x-api-key', 'cookie', 'proxy-authorization', 'chatgpt-account-id'],
]);

/** Which accounts the provider knows. */
export class Accounts {
  readonly #known: ReadonlySet<string>;
  readonly #acceptUnknown: boolean;

  constructor(known: readonly string[], acceptUnknown: boolean) {
    this.#known = new Set(known);
    this.#acceptUnknown = acceptUnknown;
  }

  accepts(account: string): boolean {
    return this.#acceptUnknown || this.#known.has(account);
  }
}
