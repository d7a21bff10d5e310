import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** The names under which operators may reach the admin port. */
export interface OwnNames {
  /** The host on which the port listens. */
  readonly host: string;
  /** Further names, in lower case; `.example` stands for all names below it. */
  readonly allowedHosts: readonly string[];
  /** The console's address for browsers, if it is behind a proxy. */
  readonly publicUrl?: string | undefined;
}

export interface PageRefusal {
  readonly reason: 'host' | 'origin' | 'cross_site';
  /** How a person can fix it. */
  readonly text: string;
}

/**
 * Prevents web pages from calling the admin port through an operator's browser. The Host header
 * shows a foreign page whose own name resolves to this machine (DNS rebinding). That attack needs a
 * name, so an IP address is always accepted. Origin, or Sec-Fetch-Site if a browser sends no
 * Origin, shows a foreign page that calls the port under its proper name.
 *
 * @param isVisit a person opens a page of the console, which has no secret of its own: links on
 * other sites may lead there.
 * @returns why the request is refused; undefined if it is accepted.
 */
export function pageRefusal(
  { host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders,
  { host: ownHost, allowedHosts, publicUrl }: OwnNames,
  isVisit: boolean,
): PageRefusal | undefined {
  const name = nameIn(host);
  if (name === undefined) return { reason: 'host', text: 'The Host header is not a valid host name or address.' };
  const known = [normalName(ownHost), 'localhost', ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
  const isListed = allowedHosts.some((each) => name === each || (each.startsWith('.') && name.endsWith(each)));
  if (isIP(name) === 0 && !known.includes(name) && !isListed) {
    const text = `The admin port does not accept this host name. To allow it, add ${name} to the setting ADMIN_ALLOWED_HOSTS.`;
    return { reason: 'host', text };
  }
  if (isVisit) return undefined;
  if (origin !== undefined && origin !== publicUrl && URL.parse(origin)?.host !== host?.toLowerCase()) {
    return { reason: 'origin', text: 'Pages of other origins may not call the admin port.' };
  }
  // "none": the person acted, for example with a bookmark. Absent: not a browser.
  if (site === undefined || site === 'same-origin' || site === 'none') return undefined;
  return { reason: 'cross_site', text: 'Pages of other sites may not call the admin port.' };
}

/** The host of a Host header: a name, or an address without brackets. */
function nameIn(host = ''): string | undefined {
  const [, address, name] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::\d+)?$/i.exec(host) ?? [];
  const found = address ?? name;
  return found === undefined ? undefined : normalName(found);
}

/** In lower case, without the final dot of a fully qualified name. */
export function normalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
