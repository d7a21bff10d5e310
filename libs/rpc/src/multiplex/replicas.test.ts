import { monotonicMs } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { RpcError } from '../errors.ts';
import { servedMethods } from '../served-methods.ts';
import { serviceRoute } from '../service-types.ts';
import { MemoryStream } from './__fixtures__/memory-stream.ts';
import { PlayService } from './__fixtures__/play-service.ts';
import { clientOf } from './channel.ts';
import { ClientSession } from './client-session.ts';
import { Replicas } from './replicas.ts';
import { ServerSession } from './server-session.ts';

const firstBackoffMs = 5;

/** Replicas that answer with their address. Addresses in `away` can't be reached. */
class World {
  addresses: readonly string[] = ['one'];
  readonly away = new Set<string>();
  readonly streams = new Map<string, MemoryStream>();
  attempts = 0;
  triedAtMs = 0;
  lookups = 0;
  readonly replicas: Replicas;
  readonly client;

  constructor() {
    this.replicas = new Replicas({
      name: 'The player (play:80)',
      resolve: async () => {
        this.lookups++;
        return this.addresses;
      },
      connect: async (address) => {
        this.attempts++;
        this.triedAtMs = monotonicMs();
        if (this.away.has(address)) throw new Error('away');
        const stream = new MemoryStream();
        const { server } = stream;
        void new ServerSession(server, { methods: servedBy(address) }).serve(server.batches).catch(() => undefined);
        this.streams.set(address, stream);
        return new ClientSession(stream.client);
      },
      resolveIntervalMs: 20,
      firstBackoffMs,
    });
    this.client = clientOf(PlayService, this.replicas);
  }

  async ask(): Promise<string> {
    return Buffer.from((await this.client.unary({})).value).toString();
  }
}

const open = new Map<string, number>();

function servedBy(address: string) {
  return servedMethods([
    serviceRoute(PlayService, {
      unary: () => ({ value: Buffer.from(address) }),
      serverStream: async function* (_, { signal }) {
        open.set(address, (open.get(address) ?? 0) + 1);
        yield { value: Buffer.from(address) };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
      clientStream: async () => ({}),
      bidiStream: async function* () {},
    }),
  ]);
}

describe('the replicas of a service', () => {
  it('are looked up at the first call', async () => {
    const world = new World();
    expect(world.lookups).toBe(0);
    const calls = [world.ask(), world.ask()];
    // Later lookups repeat.
    expect(world.lookups).toBe(1);
    expect(await Promise.all(calls)).toEqual(['one', 'one']);
  });

  it('share calls by how busy they are', async () => {
    const world = new World();
    world.addresses = ['one', 'two'];
    open.clear();
    await world.ask();
    await expect.poll(() => world.streams.size).toBe(2);
    const streams = Array.from({ length: 20 }, () => world.client.serverStream({})[Symbol.asyncIterator]());
    await Promise.all(streams.map((stream) => stream.next()));
    expect(Object.fromEntries(open)).toEqual({ one: 10, two: 10 });
    await Promise.all(streams.map((stream) => stream.return?.()));
  });

  it('fail a call at once while none can be reached, and are found again', async () => {
    const world = new World();
    world.away.add('one');
    await expect(world.ask()).rejects.toMatchObject({
      status: 'unavailable',
      message: "The player (play:80) can't be reached.",
    });
    await expect(world.ask()).rejects.toBeInstanceOf(RpcError);
    world.away.clear();
    await expect.poll(() => world.ask().catch(() => '')).toBe('one');
  });

  it('are tried at once for a call that finds them in a longer pause', async () => {
    const world = new World();
    world.away.add('one');
    await expect(world.ask()).rejects.toThrow();
    const isInLongPause = () => world.attempts > 6 && monotonicMs() - world.triedAtMs > 4 * firstBackoffMs;
    await expect.poll(isInLongPause, { interval: 1 }).toBe(true);
    world.away.clear();
    expect(await world.ask()).toBe('one');
  });

  it('do without those that cannot be reached', async () => {
    const world = new World();
    world.addresses = ['one', 'two'];
    world.away.add('one');
    for (let n = 0; n < 10; n++) expect(await world.ask()).toBe('two');
  });

  it('are asked less and less often while they are away', async () => {
    const world = new World();
    world.away.add('one');
    await expect(world.ask()).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 200));
    // Pauses double from 5 ms to 100 ms, with 50 % jitter.
    expect(world.attempts).toBeGreaterThan(2);
    expect(world.attempts).toBeLessThan(18);
    world.replicas[Symbol.dispose]();
    const { attempts } = world;
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(world.attempts).toBe(attempts);
  });
});
