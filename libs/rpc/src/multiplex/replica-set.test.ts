import { describe, expect, it } from 'vitest';
import { RpcError } from '../rpc-error.ts';
import { serviceRoute } from '../service-types.ts';
import { MemoryStream } from './__fixtures__/memory-stream.ts';
import { PlayService } from './__fixtures__/play-service.ts';
import { ClientSession } from './client-session.ts';
import { defaultLimits } from './limits.ts';
import { multiplexedClient } from './multiplexed-client.ts';
import { defaultReplicaTimes, type Network } from './replica.ts';
import { ReplicaSet } from './replica-set.ts';
import { servedMethods } from './served-methods.ts';
import { ServerSession } from './server-session.ts';

const options = { limits: defaultLimits, heartbeatMs: 10_000 };

/** Replicas that answer with their address. Addresses in `away` cannot be reached. */
class Replicas {
  addresses: readonly string[] = ['one'];
  readonly away = new Set<string>();
  readonly streams = new Map<string, MemoryStream>();
  attempts = 0;
  lookups = 0;
  readonly set: ReplicaSet;
  readonly client;

  constructor(random?: () => number) {
    this.set = new ReplicaSet({
      name: 'play:80',
      resolve: async () => {
        this.lookups++;
        return this.addresses;
      },
      network: this.#network(),
      times: { ...defaultReplicaTimes, firstBackoffMs: 5, longestBackoffMs: 20 },
      resolveMs: 20,
      random,
    });
    this.client = multiplexedClient(PlayService, this.set, defaultLimits);
  }

  async ask(): Promise<string> {
    return Buffer.from((await this.client.unary({})).value).toString();
  }

  #network(): Network {
    return {
      openSession: (address, keeper) => {
        this.attempts++;
        const stream = new MemoryStream({ delay: () => 0 });
        const session = new ClientSession(stream.client, options, keeper);
        stream.connect(session, new ServerSession(stream.server, { ...options, methods: servedBy(address) }));
        this.streams.set(address, stream);
        if (this.away.has(address)) stream.cut();
        return session;
      },
      openPlain: () => {
        throw new Error('nobody here speaks plain gRPC only');
      },
    };
  }
}

const held = new Map<string, number>();

function servedBy(address: string) {
  return servedMethods([
    serviceRoute(PlayService, {
      unary: () => ({ value: Buffer.from(address) }),
      serverStream: async function* (_, { signal }) {
        held.set(address, (held.get(address) ?? 0) + 1);
        yield { value: Buffer.from(address) };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
      clientStream: async () => ({}),
      bidiStream: async function* () {},
    }),
  ]);
}

describe('a set of replicas', () => {
  it('looks the name up at the first call', async () => {
    const replicas = new Replicas();
    expect(replicas.lookups).toBe(0);
    const calls = [replicas.ask(), replicas.ask()];
    // Later it is looked up again and again.
    expect(replicas.lookups).toBe(1);
    expect(await Promise.all(calls)).toEqual(['one', 'one']);
  });

  it('moves a call of which nothing was sent to the next stream', async () => {
    const replicas = new Replicas();
    await replicas.ask();
    const stream = replicas.streams.get('one');
    // The connection is found lost before the end of the tick in which the call is made.
    stream?.cut();
    await new Promise((resolve) => process.nextTick(resolve));
    await expect(replicas.ask()).resolves.toBe('one');
    expect(replicas.attempts).toBe(2);
  });

  it('gives a call to the less busy of two replicas', async () => {
    const replicas = new Replicas();
    replicas.addresses = ['one', 'two'];
    held.clear();
    await replicas.ask();
    await expect.poll(() => replicas.attempts).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 10));
    const streams = Array.from({ length: 20 }, () => replicas.client.serverStream({})[Symbol.asyncIterator]());
    await Promise.all(streams.map((stream) => stream.next()));
    expect(Object.fromEntries(held)).toEqual({ one: 10, two: 10 });
    await Promise.all(streams.map((stream) => stream.return?.()));
  });

  it('fails at once while no replica can be reached, and recovers by itself', async () => {
    const replicas = new Replicas();
    replicas.away.add('one');
    await expect(replicas.ask()).rejects.toMatchObject({
      status: 'unavailable',
      message: 'No replica of play:80 can be reached.',
    });
    await expect(replicas.ask()).rejects.toBeInstanceOf(RpcError);
    replicas.away.clear();
    await expect.poll(() => replicas.ask().catch(() => '')).toBe('one');
  });

  it('does without the replicas that cannot be reached', async () => {
    const replicas = new Replicas();
    replicas.addresses = ['one', 'two'];
    replicas.away.add('one');
    for (let n = 0; n < 10; n++) expect(await replicas.ask()).toBe('two');
  });

  it('asks a replica that is away less and less often', async () => {
    const replicas = new Replicas();
    replicas.away.add('one');
    await expect(replicas.ask()).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(replicas.attempts).toBeGreaterThan(3);
    expect(replicas.attempts).toBeLessThan(18);
    replicas.set[Symbol.dispose]();
    const { attempts } = replicas;
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(replicas.attempts).toBe(attempts);
  });
});
