/** A name, IPv4 or bracketed IPv6 address with an optional port; may be empty. */
const hostPattern = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-fA-Fv:.]+\])(?::\d*)?$/;

/** Whether a `host` header may have this value. */
export function isHost(text: string): boolean {
  return hostPattern.test(text);
}

/** The target of a request. */
export interface RequestTarget {
  /**
   * Includes the query, exactly as sent: nothing is decoded or resolved. `*` stands for the server
   * as a whole.
   */
  readonly path: string;
  /** The authority of a target that is a whole URL: it replaces the `host` header. */
  readonly authority?: string;
}

/**
 * Reads a request target: a path, a whole URL as clients send it to a proxy, or `*`. A URL refers
 * to this server whatever its authority: nothing is fetched from there. Undefined for targets that
 * no server should accept: other schemes, user names, URLs without a host, fragments.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2 and
 *   https://www.rfc-editor.org/rfc/rfc9110#section-4.2.4
 */
export function readTarget(target: string): RequestTarget | undefined {
  if (target.includes('#')) return undefined;
  if (target === '*' || target.startsWith('/')) return { path: target };
  const [, authority = '', rest = ''] = absolutePattern.exec(target) ?? [];
  if (authority === '' || authority.startsWith(':') || !isHost(authority)) return undefined;
  return { path: rest.startsWith('/') ? rest : `/${rest}`, authority };
}

const absolutePattern = /^https?:\/\/([^/?]+)([/?].*)?$/is;
