import { Redis } from 'ioredis';
import { connect } from 'nats';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { startServerProcess } from '../src/servers/run-server.ts';
import { nats, postgres, redis } from '../src/servers/servers.ts';

describe('a server as a process', () => {
  it('is a Redis that answers, and forgets when it is killed', async () => {
    await using server = await startServerProcess(redis);
    await using clients = new AsyncDisposableStack();
    const open = () => {
      const client = new Redis(server.url, { retryStrategy: () => null });
      client.on('error', () => undefined);
      return clients.adopt(client, () => client.disconnect());
    };
    expect(await open().set('key', 'value')).toBe('OK');
    await server.kill();
    expect(server.pid).toBeUndefined();
    await server.restart();
    expect(await open().get('key')).toBeNull();
  });

  it('is a NATS server whose streams outlive a kill', async () => {
    await using server = await startServerProcess(nats);
    const before = await connect({ servers: server.url });
    await (await before.jetstreamManager()).streams.add({ name: 'ORDERS', subjects: ['orders'] });
    expect((await before.jetstream().publish('orders', 'one')).seq).toBe(1);
    await before.close();
    await server.kill();
    await server.restart();
    const after = await connect({ servers: server.url });
    expect((await (await after.jetstreamManager()).streams.info('ORDERS')).state.messages).toBe(1);
    await after.close();
  });

  it('is a Postgres whose commits outlive a kill', async () => {
    await using server = await startServerProcess(postgres());
    const query = async (text: string) => {
      const client = new Client({ connectionString: server.url });
      client.on('error', () => undefined);
      await client.connect();
      const { rows } = await client.query(text);
      await client.end();
      return rows;
    };
    await query('CREATE TABLE orders AS SELECT 7 AS amount');
    await server.kill();
    await server.restart();
    expect(await query('SELECT amount FROM orders')).toEqual([{ amount: 7 }]);
    await server.stop();
    await server.restart();
    expect(await query('SELECT amount FROM orders')).toEqual([{ amount: 7 }]);
  });

  it('says nothing while it is paused, and goes on afterwards', async () => {
    await using server = await startServerProcess(postgres());
    const client = new Client({ connectionString: server.url });
    await client.connect();
    await server.pause();
    let answered = false;
    const answer = client.query('SELECT 1 AS one').then(({ rows }) => {
      answered = true;
      return rows;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answered).toBe(false);
    await server.resume();
    expect(await answer).toEqual([{ one: 1 }]);
    await client.end();
  });
});
