import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EnvReader } from './env-reader.ts';
import { networkOf, readTrustedProxies, TrustedProxies } from './trusted-proxies.ts';

describe('the address of a client', () => {
  const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.7', '2001:db8:f::/48', '::ffff:172.16.0.0/108']);

  it.each([
    ['without a proxy', '203.0.113.5', undefined, '203.0.113.5'],
    ['that no trusted proxy has passed on', '203.0.113.5', '198.51.100.1', '203.0.113.5'],
    ['behind a proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['behind a proxy that an IPv6 socket reports', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['in hexadecimal notation', '::ffff:a00:1', '::ffff:c633:6401', '198.51.100.1'],
    ['behind three proxies', '10.0.0.1', '198.51.100.1, 172.16.3.4, 192.0.2.7', '198.51.100.1'],
    ['that has written a part itself', '10.0.0.1', '10.9.9.9, 1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['that is a trusted one itself', '10.0.0.1', '10.2.2.2', '10.2.2.2'],
    ['with a port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['in brackets', '2001:db8:f::1', '[2001:db8:1::5]:443', '2001:db8:1::5'],
    ['of a proxy that says nothing of use', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['behind what is no address', '10.0.0.1', '198.51.100.1, evil', '10.0.0.1'],
    ['in several headers', '10.0.0.1', ['1.1.1.1', '198.51.100.1'], '198.51.100.1'],
    ['that is not known', undefined, '198.51.100.1', ''],
  ])('%s', (_, connected, forwarded, address) => {
    expect(proxies.clientAddress(connected, forwarded)).toBe(address);
  });

  it('is never one that an untrusted sender chose', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string())), (client, written) => {
        fc.pre(!proxies.trusts(client));
        const forwarded = [...written, client].join(', ');
        expect(proxies.clientAddress('10.0.0.1', forwarded)).toBe(client);
        expect(proxies.clientAddress(client, forwarded)).toBe(client);
      }),
    );
  });
});

describe('the network of an address', () => {
  it.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['', ''],
  ])('of %j is %j', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it('is the same for all addresses of a /64, and no other', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    const groups = fc.tuple(group, group, group, group);
    fc.assert(
      fc.property(groups, groups, groups, (network, host, other) => {
        const text = (...all: readonly number[]) => all.map((each) => each.toString(16)).join(':');
        fc.pre(network.some((each) => each !== 0));
        expect(networkOf(text(...network, ...host))).toBe(networkOf(text(...network, ...other)));
        const [first, ...rest] = network;
        expect(networkOf(text(first ^ 1, ...rest, ...host))).not.toBe(networkOf(text(...network, ...host)));
      }),
    );
  });
});

it.each(['10.0.0.0/33', 'proxy', '10.0.0.1/', '::/129', '10.0.0.0/8 192.0.2.1'])('refuses the proxies %j', (text) => {
  const reader = new EnvReader({ TRUSTED_PROXIES: text });
  readTrustedProxies(reader, 'TRUSTED_PROXIES');
  expect(() => reader.done()).toThrow('TRUSTED_PROXIES must be addresses or networks');
});
