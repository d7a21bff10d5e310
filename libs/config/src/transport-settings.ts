import { isIP } from 'node:net';
import type { EnvReader } from './env-reader.ts';

/**
 * TLS_CERT_FILE, TLS_KEY_FILE and TLS_CA_FILE: PEM files with which services authenticate each
 * other. Undefined: they communicate without encryption.
 */
export function readTlsFiles(reader: EnvReader) {
  const names = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CA_FILE'] as const;
  const [certFile, keyFile, caFile] = names.map((name) => reader.optional(name));
  if (certFile !== undefined && keyFile !== undefined && caFile !== undefined) return { certFile, keyFile, caFile };
  const missing = names.filter((name) => reader.optional(name) === undefined);
  if (missing.length < names.length)
    reader.problem(`${missing.join(' and ')} must be set too: TLS needs ${names.join(', ')}.`);
  return undefined;
}

/**
 * Adds a problem when listeners for other services or operators would be reachable from other
 * machines without encryption, unless ALLOW_PLAINTEXT (false) states that a mesh or a private
 * network protects them.
 *
 * @param hosts the addresses that they listen on, by the names of the settings.
 */
export function checkListeners(reader: EnvReader, hosts: Readonly<Record<string, string>>): void {
  const allowed = reader.boolean('ALLOW_PLAINTEXT', false);
  if (allowed || readTlsFiles(reader) !== undefined) return;
  for (const [name, host] of Object.entries(hosts)) {
    if (isLoopback(host)) continue;
    reader.problem(
      `${name} is ${host}: other machines could reach this service without TLS. Set TLS_CERT_FILE, TLS_KEY_FILE and TLS_CA_FILE. If a mesh or a private network protects the service, set ALLOW_PLAINTEXT=true. To listen on this machine only, set ${name}=127.0.0.1.`,
    );
  }
}

/** Whether an address can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or the same names in lower case. Empty: no proxy. Addresses
 * of this machine are never reached through a proxy.
 */
export type Proxies = Readonly<ReturnType<typeof readProxies>>;

export function readProxies(reader: EnvReader) {
  const proxy = (name: string) => reader.optionalUrl(name, 'http://proxy.example.com:3128') ?? '';
  const noProxy = reader.optional('no_proxy') ?? reader.optional('NO_PROXY') ?? '';
  return {
    httpsProxy: proxy('https_proxy') || proxy('HTTPS_PROXY'),
    httpProxy: proxy('http_proxy') || proxy('HTTP_PROXY'),
    noProxy: `${noProxy},localhost,127.0.0.1,::1`,
  };
}
