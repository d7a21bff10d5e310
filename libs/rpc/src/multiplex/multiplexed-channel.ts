import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { credentials } from '@grpc/grpc-js';
import type { GrpcChannel } from '../grpc-client.ts';
import { ClientSession } from './client-session.ts';
import { openStream } from './http2/open-stream.ts';
import { defaultLimits, type MultiplexLimits } from './limits.ts';
import { multiplexedClient } from './multiplexed-client.ts';
import { PlainPlace } from './plain-place.ts';
import { defaultReplicaTimes, type Network, type ReplicaTimes } from './replica.ts';
import { ReplicaSet } from './replica-set.ts';

export interface MultiplexedChannelOptions {
  readonly limits?: MultiplexLimits;
  readonly times?: ReplicaTimes;
  /** How long a replica may be silent before it is asked, and then until it is given up. */
  readonly heartbeatMs?: number;
  /** How often the name is looked up; also at once when a replica is missing. */
  readonly resolveMs?: number;
  /** The addresses, `ip:port`, that the URL stands for. Default: all that its name resolves to, with its port. */
  readonly resolve?: () => Promise<readonly string[]>;
}

/**
 * Opens a channel on which all calls to a replica share one long-lived stream, at a fraction of the cost of plain gRPC.
 * `url` is `http://host:port`, whose name is looked up at the first call, or `unix:/path` of a socket. Replicas that know no such streams are called
 * over plain gRPC. Disposing lets running calls end.
 */
export function openMultiplexedChannel(url: string, options: MultiplexedChannelOptions = {}): GrpcChannel {
  const { limits = defaultLimits, times = defaultReplicaTimes, heartbeatMs = 5_000, resolveMs = 5_000 } = options;
  const { protocol, hostname, port, host } = new URL(url);
  const addresses = protocol === 'unix:' ? async () => [url] : () => addressesOf(hostname, port || '80');
  const replicas = new ReplicaSet({
    name: host || url,
    resolve: options.resolve ?? addresses,
    network: grpcNetwork(limits, heartbeatMs),
    times,
    resolveMs,
  });
  return {
    client: (service) => multiplexedClient(service, replicas, limits),
    [Symbol.dispose]: () => replicas[Symbol.dispose](),
  };
}

/** Every address of a name, IPv6 in brackets. */
async function addressesOf(hostname: string, port: string): Promise<readonly string[]> {
  const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
  return found.map(({ address }) => (isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`));
}

function grpcNetwork(limits: MultiplexLimits, heartbeatMs: number): Network {
  return {
    openSession: (address, keeper) =>
      openStream(address, (transport) => new ClientSession(transport, { limits, heartbeatMs }, keeper)),
    openPlain: (address, onUnreachable) =>
      new PlainPlace({
        target: grpcTarget(address),
        credentials: credentials.createInsecure(),
        windowBytes: limits.windowBytes,
        onUnreachable,
      }),
  };
}

/** An address as grpc-js names it. */
function grpcTarget(address: string): string {
  if (address.startsWith('unix:')) return address;
  return address.startsWith('[') ? `ipv6:${address}` : `ipv4:${address}`;
}
