import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import {
  PlaygroundEndpoint,
  PlaygroundService,
  type RelayResponse,
} from '@gateway/proto/admin/v1/playground_service_pb.js';
import { createTokenText } from '@gateway/tokens';
import { describe, expect, it, onTestFinished } from 'vitest';
import { anAdminWorld, asBrowser } from '../__fixtures__/admin-world.ts';

const { MODELS, CHAT_COMPLETIONS, MESSAGES, RESPONSES } = PlaygroundEndpoint;
const tokenText = createTokenText('service');

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An edge that answers as the test says, and the console's calls of a signed-in viewer. */
async function aPlayground(answer: (response: ServerResponse) => unknown) {
  const asked: Asked[] = [];
  const edge = createServer(async (request, response) => {
    const { method, url, headers } = request;
    asked.push({ method, url, headers, body: await text(request) });
    answer(response);
  });
  await once(edge.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    edge.closeAllConnections();
    edge.close();
  });
  const world = await anAdminWorld({}, 0, `http://127.0.0.1:${(edge.address() as AddressInfo).port}`);
  const session = await world.signIn((await world.operator('viewer', 'vera')).token);
  const clientWith = (headers: ReturnType<typeof asBrowser>) =>
    createClient(
      PlaygroundService,
      createConnectTransport({
        baseUrl: world.url,
        httpVersion: '1.1',
        interceptors: [
          (next) => (request) => {
            for (const [name, value] of Object.entries(headers)) request.header.set(name, String(value));
            return next(request);
          },
        ],
      }),
    );
  return { asked, edge, world, session, clientWith, client: clientWith(asBrowser(session)) };
}

const chat = { endpoint: CHAT_COMPLETIONS, tokenText, body: '{"model":"m"}' };

describe('a request of the playground', () => {
  it.each([
    [MODELS, 'GET', '/v1/models', ''],
    [CHAT_COMPLETIONS, 'POST', '/v1/chat/completions', '{"model":"m"}'],
    [MESSAGES, 'POST', '/v1/messages', '{"model":"m"}'],
    [RESPONSES, 'POST', '/v1/responses', '{"model":"m"}'],
  ])('to endpoint %i is %s %s, with the token and the body, and nothing else of the call', async (...expected) => {
    const [endpoint, method, url, body] = expected;
    const { client, asked, session } = await aPlayground((response) => response.end('{}'));
    await received(client.relay({ endpoint, tokenText, body: '{"model":"m"}' }));
    expect(asked).toMatchObject([{ method, url, body, headers: { authorization: `Bearer ${tokenText}` } }]);
    const names = ['authorization', 'connection', 'content-length', 'content-type', 'host', 'user-agent'];
    expect(names).toEqual(expect.arrayContaining(Object.keys(asked[0]?.headers ?? {})));
    const sent = JSON.stringify(asked);
    expect(sent).not.toContain(session.csrfToken);
    expect(sent).not.toContain(session.cookie.split('=')[1]);
  });

  it('goes nowhere else, whatever it asks for', async () => {
    const { client, asked } = await aPlayground((response) => response.end('{}'));
    for (const endpoint of [0, 5, 99]) {
      expect(await codeOf(client.relay({ ...chat, endpoint }))).toBe(Code.InvalidArgument);
    }
    for (const wrong of ['', 'a b', 'x\r\nhost: evil.example', 'é', 'x'.repeat(513), createTokenText('operator')]) {
      expect(await codeOf(client.relay({ ...chat, tokenText: wrong }))).toBe(Code.InvalidArgument);
    }
    expect(await codeOf(client.relay({ ...chat, body: 'x'.repeat(65_537) }))).toBe(Code.InvalidArgument);
    expect(asked).toEqual([]);
  });

  it('needs a session, and the token of its page', async () => {
    const { clientWith, asked, session } = await aPlayground((response) => response.end('{}'));
    expect(await codeOf(clientWith({}).relay(chat))).toBe(Code.Unauthenticated);
    expect(await codeOf(clientWith({ authorization: `Bearer ${tokenText}` }).relay(chat))).toBe(Code.Unauthenticated);
    expect(await codeOf(clientWith({ cookie: session.cookie }).relay(chat))).toBe(Code.PermissionDenied);
    const wrong = { cookie: session.cookie, 'x-csrf-token': 'wrong' };
    expect(await codeOf(clientWith(wrong).relay(chat))).toBe(Code.PermissionDenied);
    expect(await codeOf(clientWith({ ...asBrowser(session), origin: 'https://evil.example' }).relay(chat))).toBe(
      Code.PermissionDenied,
    );
    expect(asked).toEqual([]);
  });

  it('may come from the holder of a client token, whom the console shows nothing else', async () => {
    const { clientWith, world, asked } = await aPlayground((response) => response.end('{}'));
    const session = await world.signIn(world.caller('ci').token);
    await received(clientWith(asBrowser(session)).relay(chat));
    expect(asked).toHaveLength(1);
  });

  it('gets the answer as it is, with an error as a client sees it', async () => {
    const { client } = await aPlayground((response) => {
      response.writeHead(429, { 'retry-after': '7', 'x-request-id': 'r1', 'content-type': 'application/json' });
      response.end('{"error":{"code":"rate_limit_exceeded"}}');
    });
    const { status, headers, body } = await received(client.relay(chat));
    expect([status, body]).toEqual([429, '{"error":{"code":"rate_limit_exceeded"}}']);
    expect(headers).toMatchObject({ 'retry-after': '7', 'x-request-id': 'r1', 'content-type': 'application/json' });
    expect(headers).not.toHaveProperty('connection');
  });

  it('gets each part of a stream as soon as it comes', async () => {
    const parts = ['data: 1\n\n', 'data: é\n\n', 'data: 3\n\n'];
    let open: ServerResponse | undefined;
    const { client } = await aPlayground((response) => {
      open = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    });
    const stream = client.relay(chat)[Symbol.asyncIterator]();
    expect((await stream.next()).value.part).toMatchObject({ case: 'head', value: { status: 200 } });
    for (const part of parts) {
      open?.write(part);
      const { value } = await stream.next();
      expect(Buffer.from(value.part.value).toString()).toBe(part);
    }
    open?.end();
    expect((await stream.next()).done).toBe(true);
  });

  it('ends at the edge when its page is left', async () => {
    const closed = Promise.withResolvers<void>();
    const { client } = await aPlayground((response) => {
      response.once('close', closed.resolve);
      response.write('data: 1\n\n');
    });
    const leave = new AbortController();
    const stream = client.relay(chat, { signal: leave.signal })[Symbol.asyncIterator]();
    await stream.next();
    leave.abort();
    await closed.promise;
  });

  it('ends at the edge when the service stops', async () => {
    const closed = Promise.withResolvers<void>();
    const { client, world } = await aPlayground((response) => {
      response.once('close', closed.resolve);
      response.write('data: 1\n\n');
    });
    const stream = client.relay(chat)[Symbol.asyncIterator]();
    await stream.next();
    await world.service.drain?.(0);
    await closed.promise;
    expect(await codeOf(stream)).toBe(Code.Unavailable);
  });

  it('is read from the edge no faster than the page reads', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const total = 15 * 1024 * 1024;
    let written = 0;
    let isStuck = Promise.withResolvers<void>();
    const { client } = await aPlayground(async (response) => {
      while (written < total) {
        written += chunk.length;
        if (response.write(chunk)) continue;
        const drained = once(response, 'drain');
        isStuck.resolve();
        await drained;
        isStuck = Promise.withResolvers();
      }
      response.end();
    });
    const stream = client.relay(chat)[Symbol.asyncIterator]();
    await stream.next();
    // Buffers of the connections in between fill up; then nothing more is written.
    let before = -1;
    await expect
      .poll(() => {
        const isStill = written === before;
        before = written;
        return isStill;
      })
      .toBe(true);
    expect(written).toBeLessThan(total);
    let bytes = 0;
    for (let next = await stream.next(); next.done !== true; next = await stream.next()) {
      if (next.value.part.case === 'bytes') bytes += next.value.part.value.length;
    }
    expect(bytes).toBe(total);
  });

  it('is one of at most four of its caller, and makes room when it ends', async () => {
    const { client, clientWith, world, asked } = await aPlayground((response) => response.write('data: 1\n\n'));
    const leave = new AbortController();
    const running = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const stream = client.relay(chat, { signal: leave.signal })[Symbol.asyncIterator]();
        await stream.next();
        return stream;
      }),
    );
    expect(await codeOf(client.relay(chat))).toBe(Code.ResourceExhausted);
    expect(asked).toHaveLength(4);
    const other = clientWith(asBrowser(await world.signIn((await world.operator('viewer', 'otto')).token)));
    const leaveToo = new AbortController();
    await other.relay(chat, { signal: leaveToo.signal })[Symbol.asyncIterator]().next();
    leaveToo.abort();
    leave.abort();
    await Promise.allSettled(running.map((stream) => stream.next()));
    const isLetIn = async () => {
      using leaving = new DisposableStack();
      const next = new AbortController();
      leaving.defer(() => next.abort());
      const stream = client.relay(chat, { signal: next.signal })[Symbol.asyncIterator]();
      return await stream.next().then(
        () => true,
        () => false,
      );
    };
    await expect.poll(isLetIn).toBe(true);
  });

  it('fails without a word of the request if the edge breaks off, or is not there', async () => {
    const { client, edge } = await aPlayground((response) => response.socket?.destroy());
    for (let times = 0; times < 2; times++) {
      const error = await errorOf(client.relay(chat));
      expect(error.code).toBe(Code.Unavailable);
      expect(error.message).not.toContain(tokenText);
      expect(error.message).not.toMatch(/127\.0\.0\.1|ECONN/);
      edge.close();
    }
  });

  it('is refused with what to set, if the service does not know the edge', async () => {
    const world = await anAdminWorld();
    const { bearer } = await world.operator('admin');
    const transport = createConnectTransport({ baseUrl: world.url, httpVersion: '1.1' });
    const call = createClient(PlaygroundService, transport).relay(chat, { headers: bearer });
    const error = await errorOf(call);
    expect([error.code, error.rawMessage]).toEqual([Code.FailedPrecondition, expect.stringContaining('EDGE_URL')]);
  });
});

async function received(stream: AsyncIterable<RelayResponse>) {
  let status = 0;
  let headers: Readonly<Record<string, string>> = {};
  const chunks: Uint8Array[] = [];
  for await (const { part } of stream) {
    if (part.case === 'bytes') chunks.push(part.value);
    if (part.case !== 'head') continue;
    status = part.value.status;
    headers = Object.fromEntries(part.value.headers.map(({ name, value }) => [name, value]));
  }
  return { status, headers, body: Buffer.concat(chunks).toString() };
}

async function errorOf(stream: AsyncIterable<unknown> | AsyncIterator<unknown>): Promise<ConnectError> {
  const iterator = Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : stream;
  try {
    for (let next = await iterator.next(); next.done !== true; ) next = await iterator.next();
  } catch (thrown) {
    return ConnectError.from(thrown);
  }
  return expect.fail('it did not fail');
}

async function codeOf(stream: AsyncIterable<unknown> | AsyncIterator<unknown>): Promise<Code> {
  return (await errorOf(stream)).code;
}
