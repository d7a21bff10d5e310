import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import type { EnvReader } from './env-reader.ts';

/** The proxies in front of a listener, which say whose request they pass on. */
export class TrustedProxies {
  readonly #networks = new BlockList();

  /** @param networks addresses, or networks such as "10.0.0.0/8" */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [given = '', bits] = network.split('/');
      const address = normalAddress(given) ?? given;
      // Bits of a network that was written as IPv6, and is one of IPv4.
      const skipped = isIPv6(given) && isIPv4(address) ? 96 : 0;
      const family = isIPv4(address) ? 'ipv4' : 'ipv6';
      if (bits === undefined) this.#networks.addAddress(address, family);
      else this.#networks.addSubnet(address, Math.max(0, Number(bits) - skipped), family);
    }
  }

  trusts(address: string): boolean {
    const normal = normalAddress(address);
    return normal !== undefined && this.#networks.check(normal, isIPv4(normal) ? 'ipv4' : 'ipv6');
  }

  /**
   * The address of a client: that of the connection, or what its proxy says. `X-Forwarded-For` is
   * read from the right, as long as trusted proxies have written it: a client may have written the
   * rest itself. Empty: unknown.
   */
  clientAddress(connected: string | undefined, forwardedFor: string | readonly string[] | undefined): string {
    let address = normalAddress(connected ?? '') ?? '';
    const entries = [forwardedFor ?? ''].flat().join(',').split(',');
    while (this.trusts(address)) {
      const next = normalAddress(entries.pop() ?? '');
      if (next === undefined) return address;
      address = next;
    }
    return address;
  }
}

/** TRUSTED_PROXIES or the like: addresses or networks, separated by commas. */
export function readTrustedProxies(reader: EnvReader, name: string): readonly string[] {
  const texts = reader.string(name, '').split(',');
  const networks = texts.map((text) => text.trim()).filter(Boolean);
  const wrong = networks.filter((text) => {
    const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    return isIP(address) === 0 || Number(bits ?? 0) > (isIP(address) === 4 ? 32 : 128);
  });
  if (wrong.length === 0) return networks;
  reader.problem(
    `${name} must be addresses or networks, separated by commas, not "${wrong.join(', ')}". For example: ${name}=10.0.0.0/8`,
  );
  return [];
}

/**
 * The network for which requests are counted. The owner of one IPv6 address has its whole /64; an
 * IPv4 address is the same one in each notation.
 */
export function networkOf(address: string): string {
  const normal = normalAddress(address) ?? address;
  if (!isIPv6(normal)) return normal;
  const [head = [], tail = []] = normal.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}

/**
 * An address in its only notation, without a port, brackets or a zone. IPv4 addresses that an IPv6
 * socket reports are IPv4. Undefined: not an address.
 */
function normalAddress(text: string): string | undefined {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const [bare = ''] = (bracketed ?? withPort ?? text.trim()).split('%');
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return undefined;
  const address = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const [, high = '', low = ''] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(address) ?? [];
  if (high === '') return address;
  const bits = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}
