import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { EnvReader } from '@gateway/config';
import { mayCall, mayReadMetrics, serviceNamesIn } from '@gateway/rpc';

/** Reads ADMIN_ALLOWED_HOSTS: host names with commas between them, where `.example` stands for all names below it. */
export function readAllowedHosts(reader: EnvReader): readonly string[] {
  const texts = reader.string('ADMIN_ALLOWED_HOSTS', '').split(',');
  const names = texts.map((name) => normalName(name.trim())).filter((name) => name !== '');
  const wrong = names.filter((name) => !/^\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name));
  if (wrong.length > 0) {
    reader.problem(
      `ADMIN_ALLOWED_HOSTS must be host names with commas between them, without scheme and port, not "${wrong.join(', ')}". For example: ADMIN_ALLOWED_HOSTS=identity,.gateway.svc.cluster.local`,
    );
  }
  return names;
}

/** The names under which the admin port may be called. */
export interface AdminNames {
  /** What it listens on. */
  readonly host: string;
  /** As `readAllowedHosts` gives them. */
  readonly allowedHosts: readonly string[];
}

/**
 * Keeps web pages from calling the admin port through a browser. A foreign page whose own name resolves to this machine (DNS
 * rebinding) is shown by the Host header; that takes a name, so that an IP address is always fine. One that calls the port under its
 * proper name is shown by Origin, or by Sec-Fetch-Site where a browser sends no Origin.
 *
 * @returns why the request is not taken, and what a person can do about it; undefined when it may be taken.
 */
export function adminRefusal(
  { host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders,
  { host: ownHost, allowedHosts }: AdminNames,
): Refusal | undefined {
  const isListed = (name: string) =>
    allowedHosts.some((allowed) => name === allowed || (allowed.startsWith('.') && name.endsWith(allowed)));
  const name = nameIn(host);
  if (name === undefined) return { reason: 'host', text: 'The Host header is not a host name or an address.\n' };
  const isOwn = isIP(name) !== 0 || name === 'localhost' || name === normalName(ownHost);
  if (!isOwn && !isListed(name)) {
    return { reason: 'host', text: `The admin port is not served under this name. ${howToAllow(name)}` };
  }
  if (origin === undefined) {
    // A direct visit ("none") is a person's own doing.
    if (site !== 'cross-site' && site !== 'same-site') return undefined;
    return { reason: 'cross_site', text: 'Pages of other sites may not call the admin port.\n' };
  }
  const url = URL.parse(origin);
  if (url === null) return { reason: 'origin', text: 'Pages without an origin may not call the admin port.\n' };
  const originName = normalName(url.hostname);
  if (url.host === host?.toLowerCase() || isListed(originName)) return undefined;
  return { reason: 'origin', text: `Pages of other origins may not call the admin port. ${howToAllow(originName)}` };
}

/**
 * With TLS, health is for everybody, metrics are for Prometheus and services, and an RPC is for those whom the call table gives it.
 *
 * @returns why the request is not taken; undefined when it may be taken, or the connection has no TLS.
 */
export function certificateRefusal({ socket }: IncomingMessage, path: string): Refusal | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  if (!socket.authorized)
    return { reason: 'certificate', text: 'This needs a client certificate of the authority in TLS_CA_FILE.\n' };
  const names = serviceNamesIn(socket.getPeerX509Certificate()?.subjectAltName);
  const isAllowed = path === '/metrics' ? mayReadMetrics(names) : mayCall(names, path);
  return isAllowed
    ? undefined
    : { reason: 'certificate', text: `${names.join(', ') || 'A caller without a name'} may not ask for ${path}.\n` };
}

interface Refusal {
  readonly reason: 'host' | 'origin' | 'cross_site' | 'certificate';
  readonly text: string;
}

/** The host of a Host header: a name, or an address without brackets. */
function nameIn(host = ''): string | undefined {
  const [, address, name] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::\d+)?$/i.exec(host) ?? [];
  const found = address ?? name;
  return found === undefined ? undefined : normalName(found);
}

/** In lower case, without the final dot of a full name. */
function normalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function howToAllow(name: string): string {
  return `To allow it, add ${name} to the setting ADMIN_ALLOWED_HOSTS.\n`;
}
