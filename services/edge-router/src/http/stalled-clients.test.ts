import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cutStalledClients, hasStalled } from './stalled-clients.ts';

const stallMs = 600;

/**
 * A server that sends each client this much at once, and one client that does not read by itself.
 */
async function setUp(bytes: number) {
  let stalled = 0;
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer((connection) => {
    connection.on('error', () => undefined).resume();
    connection.write(Buffer.alloc(bytes));
    accepted.resolve(connection);
  });
  cutStalledClients(server, stallMs, () => stalled++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).pause();
  client.on('error', () => undefined);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return { client, connection: await accepted.promise, stalled: () => stalled };
}

const moreThanBuffersHold = 32 * 1024 * 1024;

describe('cutStalledClients', () => {
  it('cuts off a client that takes nothing, and says so', async () => {
    const { connection, stalled } = await setUp(moreThanBuffersHold);
    const startedAtMs = performance.now();
    await expect.poll(() => connection.destroyed).toBe(true);
    expect(performance.now() - startedAtMs).toBeGreaterThan(stallMs * 0.9);
    expect(hasStalled(connection)).toBe(true);
    expect(stalled()).toBe(1);
  });

  it('cuts off a client that goes on sending but takes nothing', async () => {
    const { client, connection } = await setUp(moreThanBuffersHold);
    const sending = setInterval(() => client.write('x'), 50);
    await expect.poll(() => connection.destroyed).toBe(true);
    clearInterval(sending);
  });

  it('leaves a client alone for which there is nothing', async () => {
    const { connection } = await setUp(0);
    await sleep(2 * stallMs);
    expect(connection.destroyed).toBe(false);
    // The server can't tell bytes in the system's buffers from sent ones.
    connection.write(Buffer.alloc(1_000));
    await sleep(2 * stallMs);
    expect(connection.destroyed).toBe(false);
  });

  it('leaves a client alone that takes so little that the system wants nothing from us for longer than a stall', async () => {
    const { client, connection } = await setUp(moreThanBuffersHold);
    client.on('readable', () => undefined);
    for (let n = 0; n < 40; n++) {
      client.read(Math.min(64 * 1024, client.readableLength));
      await sleep(stallMs / 10);
    }
    expect(connection.destroyed).toBe(false);
  });
});
