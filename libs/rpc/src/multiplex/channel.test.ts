import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { GrpcServer } from '../grpc/server.ts';
import { serviceRoute } from '../service-types.ts';
import { PlayService } from './__fixtures__/play-service.ts';
import { type ChannelOptions, openChannel } from './channel.ts';

interface Value {
  readonly value: Uint8Array;
}

/** Everything that a test opens; closed after each test. */
let opened: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of opened.reverse()) await close();
  opened = [];
});

/** A replica that answers with its own name and the number of its calls so far. */
async function replica(name: string, port = 0) {
  const state = { calls: 0, address: '', signal: undefined as AbortSignal | undefined };
  const route = serviceRoute(PlayService, {
    unary: async ({ value }, { signal }) => {
      state.calls++;
      state.signal = signal;
      if (String(value) === 'hold') await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { value: Buffer.from(name) };
    },
    serverStream: async function* () {
      yield { value: Buffer.from(name) };
    },
    clientStream: async () => ({}),
    bidiStream: async function* (requests: AsyncIterable<Value>) {
      for await (const { value } of requests) yield { value };
    },
  });
  const server = await GrpcServer.listen({ host: '127.0.0.1', port, routes: [route] });
  state.address = `127.0.0.1:${server.port}`;
  opened.push(() => server.stop(0));
  return { state, stop: (graceMs: number) => server.stop(graceMs), port: server.port };
}

function channelTo(addresses: () => readonly string[], options: ChannelOptions = {}) {
  const resolve = async () => addresses();
  const channel = openChannel('http://play:80', { service: 'player', resolve, resolveIntervalMs: 50, ...options });
  opened.push(() => channel[Symbol.dispose]());
  return channel.client(PlayService);
}

/**
 * One address in front of a replica, and its current client connections. The first `refuses`
 * connections are closed at once.
 */
async function proxyTo(port: number, { refuses = 0 } = {}) {
  const connections = new Set<Socket>();
  let toRefuse = refuses;
  const proxy = createServer((client) => {
    client.on('error', () => undefined);
    if (toRefuse-- > 0) return client.destroy();
    connections.add(client);
    const server = connect(port, '127.0.0.1').on('error', () => undefined);
    client.on('close', () => connections.delete(client) && server.destroy());
    server.on('close', () => client.destroy());
    client.pipe(server).pipe(client);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  opened.push(() => void proxy.close());
  return { address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`, connections };
}

const text = async (call: Promise<Value>) => Buffer.from((await call).value).toString();

describe('a channel', () => {
  it('spreads calls over all replicas that the name stands for', async () => {
    const [one, two] = [await replica('one'), await replica('two')];
    const client = channelTo(() => [one.state.address, two.state.address]);
    await client.unary({});
    const leastCalled = async () => {
      await client.unary({});
      return Math.min(one.state.calls, two.state.calls);
    };
    await expect.poll(leastCalled).toBeGreaterThan(0);
    const before = one.state.calls;
    await Promise.all(Array.from({ length: 200 }, () => client.unary({})));
    expect(Math.abs(one.state.calls - before - 100)).toBeLessThan(20);
  });

  it('carries many large messages at once, each as it was sent', async () => {
    const one = await replica('one');
    const client = channelTo(() => [one.state.address]);
    const echoed = async (call: number) => {
      const sent = Array.from({ length: 12 }, (_, n) => Buffer.alloc(256 * 1024, 16 * call + n));
      const echoes = client.bidiStream(Readable.from(sent.map((value) => ({ value }))));
      const isSame: boolean[] = [];
      for await (const { value } of echoes) isSame.push(sent[isSame.length]?.equals(value) ?? false);
      return isSame;
    };
    const all = await Promise.all(Array.from({ length: 8 }, (_, call) => echoed(call)));
    expect(all).toEqual(Array.from({ length: 8 }, () => Array.from({ length: 12 }, () => true)));
  });

  it('follows replicas that come and go without losing a call', async () => {
    const [one, two] = [await replica('one'), await replica('two')];
    let addresses = [one.state.address];
    const client = channelTo(() => addresses);
    expect(await text(client.unary({}))).toBe('one');
    addresses = [two.state.address];
    await expect.poll(() => text(client.unary({}))).toBe('two');
    expect(await text(client.unary({}))).toBe('two');
  });

  it('loses no call while a replica drains', async () => {
    const [one, two] = [await replica('one'), await replica('two')];
    const client = channelTo(() => [one.state.address, two.state.address]);
    let stopped = false;
    const answers: Promise<string>[] = [];
    const answered = new Set<string>();
    const stopping = (async () => {
      await expect.poll(() => answered, { interval: 5 }).toEqual(new Set(['one', 'two']));
      await one.stop(5_000);
      stopped = true;
    })();
    while (!stopped) {
      const answer = text(client.unary({}));
      answers.push(answer);
      void answer.then((name) => answered.add(name));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await stopping;
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['one', 'two']));
    expect(await text(client.unary({}))).toBe('two');
  });

  it('lets a running stream end while its server drains, however many signs of life are asked for meanwhile', async () => {
    const one = await replica('one');
    const client = channelTo(() => [one.state.address], {
      silence: { tickMs: 5, waiting: 1, idle: 1, unanswered: 200 },
    });
    const second = Promise.withResolvers<Value>();
    const echoes = client
      .bidiStream(
        (async function* () {
          yield { value: Buffer.of(1) };
          yield await second.promise;
        })(),
      )
      [Symbol.asyncIterator]();
    await echoes.next();
    const stopped = one.stop(5_000);
    await sleep(200);
    second.resolve({ value: Buffer.of(2) });
    expect((await echoes.next()).value?.value[0]).toBe(2);
    expect((await echoes.next()).done).toBe(true);
    await stopped;
  });

  it('fails calls in flight when their server is gone, and finds the next one', async () => {
    const one = await replica('one');
    const client = channelTo(() => [one.state.address]);
    const held = client.unary({ value: Buffer.from('hold') });
    await expect.poll(() => one.state.calls).toBe(1);
    void one.stop(0);
    await expect(held).rejects.toMatchObject({ name: 'RpcError', status: 'unavailable' });
    await expect(client.unary({})).rejects.toMatchObject({ status: 'unavailable' });
    await replica('again', one.port);
    await expect.poll(() => text(client.unary({})).catch(() => '')).toBe('again');
  });

  it('aborts the handlers when the client is gone', async () => {
    const one = await replica('one');
    const controller = new AbortController();
    const client = channelTo(() => [one.state.address]);
    const held = client.unary({ value: Buffer.from('hold') }, { signal: controller.signal });
    await expect.poll(() => one.state.calls).toBe(1);
    controller.abort();
    await expect(held).rejects.toMatchObject({ status: 'cancelled' });
    await expect.poll(() => one.state.signal?.aborted).toBe(true);
  });

  it('aborts the handlers when the connection of the client is cut', async () => {
    const one = await replica('one');
    const proxy = await proxyTo(one.port);
    const client = channelTo(() => [proxy.address]);
    const held = client.unary({ value: Buffer.from('hold') });
    await expect.poll(() => one.state.calls).toBe(1);
    for (const connection of proxy.connections) connection.destroy();
    await expect(held).rejects.toMatchObject({ status: 'unavailable' });
    await expect.poll(() => one.state.signal?.aborted).toBe(true);
  });

  it('leaves nothing behind of connections that failed', async () => {
    const one = await replica('one');
    const proxy = await proxyTo(one.port, { refuses: 5 });
    const client = channelTo(() => [proxy.address], { grpc: { 'grpc.initial_reconnect_backoff_ms': 50 } });
    await expect.poll(() => text(client.unary({})).catch(() => '')).toBe('one');
    await sleep(500);
    expect(proxy.connections.size).toBe(1);
  });

  it('says that a closed channel is closed, and lets what runs end', async () => {
    const one = await replica('one');
    const channel = openChannel(`http://${one.state.address}`);
    const client = channel.client(PlayService);
    const running = client.unary({});
    await running;
    const last = client.unary({});
    channel[Symbol.dispose]();
    expect(await text(last)).toBe('one');
    await expect(client.unary({})).rejects.toMatchObject({ status: 'unavailable', message: 'The channel is closed.' });
  });

  it('fails with the deadline while no replica answers', async () => {
    const hung = createServer(() => undefined).listen(0, '127.0.0.1');
    opened.push(() => {
      hung.close();
    });
    await once(hung, 'listening');
    const client = channelTo(() => [`127.0.0.1:${(hung.address() as AddressInfo).port}`]);
    await expect(client.unary({}, { timeoutMs: 50 })).rejects.toMatchObject({ status: 'deadline_exceeded' });
  });

  it('is not reachable when it accepts connections and says nothing', async () => {
    const hung = createServer(() => undefined).listen(0, '127.0.0.1');
    opened.push(() => {
      hung.close();
    });
    await once(hung, 'listening');
    const client = channelTo(() => [`127.0.0.1:${(hung.address() as AddressInfo).port}`], {
      silence: { tickMs: 5, waiting: 1, idle: 1, unanswered: 20 },
    });
    await expect(client.unary({})).rejects.toMatchObject({ status: 'unavailable' });
  });

  it('says so when the name stands for no address', async () => {
    const client = channelTo(() => []);
    await expect(client.unary({})).rejects.toMatchObject({
      status: 'unavailable',
      message: "The player (play) can't be reached.",
    });
  });
});

describe('a replica that is a process of its own', () => {
  async function started(port = 0): Promise<{ readonly child: ChildProcess; readonly port: number }> {
    const child = fork(new URL('./__fixtures__/replica-process.ts', import.meta.url), [String(port)]);
    opened.push(() => {
      child.kill('SIGKILL');
    });
    const [listensOn] = await once(child, 'message');
    return { child, port: Number(listensOn) };
  }

  function clientOf(port: number) {
    const channel = openChannel(`http://127.0.0.1:${port}`, {
      silence: { tickMs: 20, waiting: 2, idle: 10, unanswered: 30 },
    });
    opened.push(() => channel[Symbol.dispose]());
    return channel.client(PlayService);
  }

  it('fails by the deadline while it is paused, is given up with all its calls, and is found when it goes on', async () => {
    const { child, port } = await started();
    const client = clientOf(port);
    expect(await text(client.unary({}))).toBe('process');
    const held = client.unary({ value: Buffer.from('hold') });
    child.kill('SIGSTOP');
    const late = client.unary({}, { timeoutMs: 20 });
    await expect(late).rejects.toMatchObject({ status: 'deadline_exceeded' });
    await expect(held).rejects.toMatchObject({
      status: 'unavailable',
    });
    child.kill('SIGCONT');
    await expect.poll(() => text(client.unary({})).catch(() => '')).toBe('process');
  });

  it('is found again when it was killed and started', async () => {
    const { child, port } = await started();
    const client = clientOf(port);
    const held = client.unary({ value: Buffer.from('hold') });
    await client.unary({});
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await expect(held).rejects.toMatchObject({ status: 'unavailable' });
    await exited;
    await expect(client.unary({})).rejects.toMatchObject({ status: 'unavailable' });
    await started(port);
    await expect.poll(() => text(client.unary({})).catch(() => '')).toBe('process');
  });
});
