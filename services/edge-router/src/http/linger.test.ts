import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { RawClient } from './__fixtures__/raw-client.ts';
import { endAfterUpload, type LingerLimits } from './respond.ts';

describe('endAfterUpload', () => {
  let server: Server;
  afterEach(() => server.close().closeAllConnections());

  async function serve(limits: LingerLimits): Promise<RawClient> {
    server = createServer((_request, response) => {
      response.shouldKeepAlive = false;
      response.writeHead(413, { 'content-length': 2 });
      endAfterUpload(response, 'no', limits);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new RawClient((server.address() as AddressInfo).port);
  }
  const head = (bytes: number) => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`;
  const patient = { totalMs: 20_000, pauseMs: 20_000, bytes: 1_000_000 };

  it('sends the whole answer before the upload ends, and closes when it has ended', async () => {
    using client = await serve(patient);
    await client.send(`${head(4)}ab`).until('\r\n\r\nno');
    expect(await client.send('cd').answer()).toMatch(/no$/);
  });

  it('closes when the client pauses', async () => {
    using client = await serve({ ...patient, pauseMs: 50 });
    expect(await client.send(`${head(4)}ab`).answer()).toMatch(/no$/);
  });

  it('closes when it has taken long enough, however busy the client is', async () => {
    using client = await serve({ ...patient, totalMs: 150 });
    client.send(head(1_000_000));
    const sending = setInterval(() => client.send('a'), 10);
    await client.closed;
    clearInterval(sending);
    expect(client.text).toMatch(/no$/);
  });

  it('closes when the client has sent too much', async () => {
    using client = await serve({ ...patient, bytes: 1_000 });
    await client.send(head(10_000_000)).until('\r\n\r\nno');
    client.send(Buffer.alloc(2_000));
    await client.closed;
  });

  it('is done when the client has gone', async () => {
    const client = await serve(patient);
    await client.send(`${head(4)}ab`).until('no');
    client.reset();
    await expect.poll(() => new Promise((resolve) => server.getConnections((_fault, count) => resolve(count)))).toBe(0);
  });
});
