import type { EnvReader } from './env-reader.ts';

/** HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or the same in lower case. Empty: none. Addresses of this machine never go through one. */
export type Proxies = Readonly<ReturnType<typeof readProxies>>;

export function readProxies(reader: EnvReader) {
  const proxy = (name: string) => reader.optionalUrl(name, 'http://proxy.example.com:3128', ['http', 'https']) ?? '';
  const noProxy = reader.optional('no_proxy') ?? reader.optional('NO_PROXY') ?? '';
  return {
    httpsProxy: proxy('https_proxy') || proxy('HTTPS_PROXY'),
    httpProxy: proxy('http_proxy') || proxy('HTTP_PROXY'),
    noProxy: `${noProxy},localhost,127.0.0.1,::1`,
  };
}
