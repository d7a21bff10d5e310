import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Target } from './endpoints.ts';
import { GatewayClient } from './gateway-client.ts';

describe('the client of a gateway', () => {
  it('sends the credentials of both kinds of SDK on Messages, and a bearer alone elsewhere', async () => {
    const seen: unknown[] = [];
    const client = await clientOf((request, response) => {
      seen.push([request.method, request.headers.authorization, request.headers['x-api-key']]);
      response.end('{}');
    });
    await client.ask('messages', { body: {} });
    await client.ask('chat', { body: {}, as: 'limited-token' });
    await client.ask('models', { as: 'none' });
    await client.ask('messages', { body: {}, headers: { 'X-Api-Key': undefined, authorization: 'Bearer other' } });
    expect(seen).toEqual([
      ['POST', 'Bearer the-secret-token', 'the-secret-token'],
      ['POST', 'Bearer the-limited-token', undefined],
      ['GET', undefined, undefined],
      ['POST', 'Bearer other', undefined],
    ]);
  });

  it('sends values as JSON, texts and bytes as they are, and iterables in pieces', async () => {
    const seen: unknown[] = [];
    const client = await clientOf(async (request, response) => {
      const pieces = (await Array.fromAsync(request)) as Buffer[];
      seen.push([request.headers['transfer-encoding'], Buffer.concat(pieces).toString()]);
      response.end('{}');
    });
    for (const body of [['a list'], '{"no": JSON', Buffer.from('bytes'), pieces()]) await client.ask('chat', { body });
    expect(seen).toEqual([
      [undefined, '["a list"]'],
      [undefined, '{"no": JSON'],
      [undefined, 'bytes'],
      ['chunked', '{"in":"pieces"}'],
    ]);
  });

  it('gives the events of a stream as they come, and says when it was cut', async () => {
    const client = await clientOf((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': a comment\n\nevent: one\ndata: {"n":1}\n\ndata: 2', () =>
        setTimeout(() => response.destroy(), 20),
      );
    });
    const { events, end } = await (await client.stream('chat', { body: {} })).all();
    expect(events.map(({ event, data }) => ({ event, data }))).toEqual([{ event: 'one', data: '{"n":1}' }]);
    expect(end).toBe('cut');
    const streamed = await client.stream('chat', { body: {} });
    await expect(Array.fromAsync(streamed.events())).rejects.toThrow('the connection closed during the stream');
    await expect(client.ask('chat', { body: {} })).rejects.toThrow('closed during an answer with status 200');
  });

  it('hangs up when the loop over events ends early, and when its signal is aborted', async () => {
    const hungUp = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let requests = 0;
    const client = await clientOf((_request, response) => {
      const { resolve } = hungUp[requests++] ?? Promise.withResolvers<void>();
      response.on('close', () => resolve());
      if (requests === 1) response.writeHead(200).write('data: 1\n\n');
    });
    for await (const { data } of (await client.stream('chat', { body: {} })).events()) {
      expect(data).toBe('1');
      break;
    }
    await hungUp[0]?.promise;
    const leaving = new AbortController();
    const asked = client.ask('chat', { body: {}, signal: leaving.signal });
    setTimeout(() => leaving.abort(new Error('left')), 20);
    await expect(asked).rejects.toThrow('left');
    await hungUp[1]?.promise;
  });

  it('reads compressed answers', async () => {
    const client = await clientOf((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}'));
    });
    const answer = await client.ask('chat', { body: {}, headers: { 'accept-encoding': 'gzip' } });
    expect(answer.json()).toEqual({ a: 1 });
  });

  it('keeps exchanges as evidence, without secrets and with short bodies', async () => {
    const client = await clientOf((_request, response) => {
      response.writeHead(401, { 'x-about': 'the-secret-token' }).end(`the-secret-token ${'x'.repeat(9_000)}`);
    });
    await client.stream('chat', { body: { text: 'y'.repeat(9_000) }, headers: { 'x-mine': 'shown' } });
    const [exchange] = client.exchanges;
    expect(exchange?.request.line).toBe('POST /base/v1/chat/completions');
    expect(exchange?.request.headers).toMatchObject({ authorization: 'Bearer …', 'x-mine': 'shown', 'x-route': '…' });
    expect(exchange?.request.body).toHaveLength(4_096 + '\n[cut here]'.length);
    expect(exchange?.answer).toMatchObject({ status: 401, headers: { 'x-about': '…' } });
    expect(exchange?.answer.body).toMatch(/^… x+\n\[cut here\]$/);
    expect(JSON.stringify(client.exchanges)).not.toContain('secret');
  });

  it('says why there is no answer', async () => {
    await using client = new GatewayClient(
      { ...target, url: 'http://127.0.0.1:1' },
      AbortSignal.timeout(roomMs(5_000)),
    );
    await expect(client.ask('models')).rejects.toThrow(/no answer to GET \/v1\/models: .*ECONNREFUSED/);
  });
});

const target: Target = {
  url: 'set when it listens',
  token: 'the-secret-token',
  limitedToken: 'the-limited-token',
  models: {},
  headers: { 'x-route': 'a secret route' },
};

async function clientOf(listener: RequestListener): Promise<GatewayClient> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`;
  const client = new GatewayClient({ ...target, url }, AbortSignal.timeout(roomMs(10_000)));
  onTestFinished(async () => {
    await client[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return client;
}

async function* pieces() {
  yield '{"in":';
  yield Buffer.from('"pieces"}');
}
