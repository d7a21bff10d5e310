import { setImmediate as nextTick, setTimeout as passed } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFullListener } from '../__fixtures__/full-listener.ts';
import { answering, type RawServer, startRawServer } from '../__fixtures__/raw-server.ts';
import { createUpstream, type RecordedAnswer, record, requestTo } from '../__fixtures__/upstream-under-test.ts';
import type { UpstreamClient, UpstreamRequest } from './upstream-client.ts';
import { readBody } from './upstream-exchange.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const short = `${ok}content-length: 2\r\n\r\nhi`;
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;

let client: UpstreamClient;
let server: RawServer;

beforeEach(async () => {
  client = createUpstream();
  server = await startRawServer(answering(short));
});

/** Nothing may stay open, whatever the test did. */
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await expect.poll(() => server.open()).toBe(0);
  await server[Symbol.asyncDispose]();
});

const send = (request?: Partial<UpstreamRequest>) => client.send(requestTo(server.origin, request));
const answered = (request?: Partial<UpstreamRequest>): Promise<RecordedAnswer> => record(send(request));
const received = () => server.received.join('');

describe('a request', () => {
  it('goes out in one piece, with the length of its body', async () => {
    const writes: string[] = [];
    server.onData = (socket, all) => {
      writes.push(all);
      socket.write(short);
    };
    await answered({ path: '/v1/x?y=z', headers: { 'x-a': 'ä', accept: 'text/event-stream' }, body: '{"é":1}' });
    expect(writes).toHaveLength(1);
    const [head = '', body] = writes[0]?.split('\r\n\r\n') ?? [];
    const [first, ...lines] = head.split('\r\n');
    expect(first).toBe('POST /v1/x?y=z HTTP/1.1');
    expect(lines.toSorted()).toEqual([
      'accept: text/event-stream',
      'connection: keep-alive',
      'content-length: 8',
      `host: ${new URL(server.origin).host}`,
      'x-a: ä',
    ]);
    expect(body).toBe(Buffer.from('{"é":1}').toString('latin1'));
  });

  it.each([
    ['bytes', (size: number) => Buffer.alloc(size, 'abc')],
    ['text', (size: number) => Buffer.alloc(size, 'abc').toString()],
    [
      'pieces',
      (size: number) => [Buffer.alloc(size >> 1, 'abc'), Buffer.alloc(0), Buffer.alloc(size - (size >> 1), 'x')],
    ],
  ])('takes its body in any size, as %s', async (_form, ofSize) => {
    for (const size of [0, 1, 256 * 1024, 256 * 1024 + 1, 3_000_000]) {
      const body = ofSize(size);
      const bytes = Array.isArray(body) ? Buffer.concat(body) : Buffer.from(body);
      let [seen, head] = ['', ''];
      server.onData = (socket, all) => {
        const end = all.lastIndexOf('\r\n\r\n');
        [head, seen] = [all.slice(0, end), all.slice(end + 4)];
        if (seen.length === size) socket.end(short);
      };
      expect(await answered({ body })).toMatchObject({ body: 'hi', error: undefined });
      expect(seen === bytes.toString('latin1')).toBe(true);
      expect(head).toContain(`content-length: ${size}`);
    }
  });

  it.each([
    ['a line end in a value', { headers: { 'x-a': 'b\r\nx-c: d' } }],
    ['a line feed in a value', { headers: { 'x-a': 'b\nx-c: d' } }],
    ['a zero byte in a value', { headers: { 'x-a': 'b\0' } }],
    ['a character that is no byte', { headers: { 'x-a': '€' } }],
    ['a line end in a name', { headers: { 'x-a: b\r\nx-c': 'd' } }],
    ['an empty name', { headers: { '': 'd' } }],
    ['a wrong length of its own', { headers: { 'content-length': '5' } }],
    ['a transfer coding', { headers: { 'transfer-encoding': 'chunked' } }],
    ['a line end in its path', { path: '/a HTTP/1.1\r\nx: y' }],
    ['a blank in its path', { path: '/a b' }],
  ])('with %s is not sent', async (_what, request) => {
    expect((await answered(request)).error).toMatchObject({ name: 'UpstreamError', kind: 'network' });
    expect(received()).toBe('');
  });

  it.each(['ftp://127.0.0.1', 'nothing', ''])('to %j is not sent', async (origin) => {
    expect((await record(client.send(requestTo(origin)))).error).toMatchObject({ kind: 'network' });
  });

  it('says when it is sent, before there is any answer', async () => {
    server.onData = () => undefined;
    const exchange = send();
    await exchange.sent();
    await expect.poll(received).toContain('POST / ');
    exchange[Symbol.dispose]();
  });
});

describe('an answer', () => {
  it.each([
    ['a length', `${ok}Content-Length: 4\r\nX-A: 1\r\nX-a: 2\r\n\r\nabcd`],
    [
      'chunks',
      `${ok}X-A: 1, 2\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n3;x=y\r\nbcd\r\n0\r\nx-trailer: 1\r\n\r\n`,
    ],
    ['the end of the connection', 'HTTP/1.0 200 OK\r\nX-A: 1\r\nX-A: 2\r\n\r\nabcd'],
  ])('is read whole, wherever it is cut: with %s', async (_what, text) => {
    for (let cut = 1; cut < text.length; cut += 5) {
      server.onData = async (socket) => {
        socket.write(text.slice(0, cut));
        await passed(1);
        socket.end(text.slice(cut));
      };
      const { status, headers, body, error } = await answered();
      expect([status, headers['x-a'], body, error]).toEqual([200, '1, 2', 'abcd', undefined]);
    }
  });

  it('comes with one read for all chunks of one read', async () => {
    server.onData = answering(`${chunked}1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n`);
    const exchange = send();
    await exchange.head();
    expect(exchange.hasMore).toBe(true);
    expect((await exchange.read())?.map(String)).toEqual(['a', 'b', 'c']);
    expect(await exchange.read()).toBeUndefined();
  });

  it('that redirects is not followed', async () => {
    const location = `location: ${server.origin}/other\r\n`;
    server.onData = answering(`HTTP/1.1 307 Elsewhere\r\n${location}content-length: 0\r\n\r\n`);
    expect(await answered()).toMatchObject({ status: 307 });
    expect(received()).not.toContain('/other');
  });

  it('that comes early ends the request', async () => {
    let isAnswered = false;
    server.onData = (socket) => {
      if (!isAnswered) socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\n\r\nmuch');
      isAnswered = true;
    };
    expect(await answered({ body: [Buffer.alloc(40_000_000)] })).toMatchObject({
      status: 413,
      body: 'much',
      error: undefined,
    });
    await expect.poll(() => server.open()).toBe(0);
    expect(received().length).toBeLessThan(40_000_000);
  });

  it('that is not read slows the provider, and comes whole once it is', async () => {
    const total = 64 * 1024 * 1024;
    server.onData = (socket) => {
      socket.write(`${ok}content-length: ${total}\r\n\r\n`);
      socket.write(Buffer.alloc(total));
    };
    const exchange = send();
    await exchange.head();
    await passed(200);
    expect(server.sockets[0]?.writableLength).toBeGreaterThan(total / 2);
    let size = 0;
    for (let read = await exchange.read(); read !== undefined; read = await exchange.read()) {
      const bytes = read.reduce((sum, { length }) => sum + length, 0);
      expect(bytes).toBeLessThanOrEqual(256 * 1024);
      size += bytes;
    }
    expect(size).toBe(total);
  });

  it('that decodes to far more than was sent is decoded as it is read, and no further', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024), { level: 9 });
    server.onData = (socket) => {
      socket.write(`${ok}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    };
    const exchange = send();
    expect((await exchange.head()).headers).not.toHaveProperty('content-encoding');
    await passed(100);
    const [first = []] = [await exchange.read()];
    expect(first.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(256 * 1024);
    expect(await readBody(exchange, 64 * 1024)).toHaveLength(64 * 1024);
    exchange[Symbol.dispose]();
    await expect.poll(() => server.open()).toBe(0);
  });

  it.each([
    ['no HTTP', 'hello there\r\n\r\n'],
    ['two lengths', `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
    [
      'a length and a transfer coding',
      `${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
    ],
    ['a chunk without a size', `${chunked}\r\nab\r\n`],
    ['a head of more than 32 KiB', `${ok}${'x-a: 0123456789\r\n'.repeat(3_000)}\r\n`],
  ])('that is %s breaks off', async (_what, text) => {
    server.onData = answering(text);
    expect((await answered()).error).toMatchObject({ name: 'UpstreamError', kind: 'network' });
    await expect.poll(() => server.open()).toBe(0);
  });

  it.each([
    ['before any answer', ''],
    ['within the head', ok],
    ['within chunks', `${chunked}5\r\nab`],
    ['within a length', `${ok}content-length: 5\r\n\r\nab`],
  ])('breaks off when the provider leaves %s', async (_when, begin) => {
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      server.onData = async (socket) => {
        socket.write(begin);
        await passed(10);
        socket[leave]();
      };
      expect((await answered()).error?.kind).toBe('network');
    }
  });

  it('is not ended well by a reset, where only the end of the connection ends it', async () => {
    server.onData = async (socket) => {
      socket.write(`${ok}connection: close\r\n\r\nab`);
      await passed(10);
      socket.resetAndDestroy();
    };
    expect(await answered()).toMatchObject({ body: 'ab', error: { kind: 'network' } });
  });
});

describe('a connection', () => {
  it('is used again', async () => {
    await Promise.all([answered(), answered(), answered()]);
    expect(server.sockets).toHaveLength(3);
    for (let requests = 0; requests < 5; requests++) {
      await nextTick();
      await answered();
    }
    expect(server.sockets).toHaveLength(3);
  });

  it('carries one request at a time, and there are as many as it takes', async () => {
    server.onData = () => undefined;
    const answers = Array.from({ length: 20 }, () => answered());
    await expect.poll(() => server.sockets.length).toBe(20);
    for (const socket of server.sockets) socket.write(short);
    for (const answer of answers) expect(await answer).toMatchObject({ body: 'hi', error: undefined });
  });

  it.each([
    ['announces to close', `${ok}connection: close\r\ncontent-length: 0\r\n\r\n`],
    ['keeps it for too short', `${ok}keep-alive: timeout=2, max=5\r\ncontent-length: 0\r\n\r\n`],
    ['sends more than its answer', `${ok}content-length: 0\r\n\r\n${short}`],
  ])('is not used again when the provider %s', async (_what, answer) => {
    server.onData = answering(answer);
    expect(await answered()).toMatchObject({ body: '', error: undefined });
    await expect.poll(() => server.open()).toBe(0);
    expect(await answered()).toMatchObject({ body: '', error: undefined });
    expect(server.sockets).toHaveLength(2);
  });

  it('on which something waits to be read that was not asked for is not written to', async () => {
    await Promise.all([answered(), answered()]);
    await passed(20);
    for (const socket of server.sockets) socket.write(`${ok}content-length: 4\r\n\r\nevil`);
    // The bytes arrive before the event loop reads any.
    const until = performance.now() + 20;
    while (performance.now() < until);
    expect(await answered()).toMatchObject({ body: 'hi' });
    expect(server.sockets).toHaveLength(3);
  });

  it('that the provider closes right after its answer carries no other request', async () => {
    server.onData = (socket) => socket.end(short);
    for (let requests = 0; requests < 50; requests++) {
      const both = await Promise.all([answered(), answered()]);
      expect(both.map(({ body, error }) => `${body} ${error}`)).toEqual(['hi undefined', 'hi undefined']);
    }
  });

  /** A connection that has served a request and is idle. */
  const used = async () => {
    await answered();
    await nextTick();
  };

  describe.each(['GET', 'POST'] as const)('that is lost as a request goes out on it: %s', (method) => {
    const lost = { path: '/lost', method, body: '' };
    const timesReceived = () => received().split('/lost').length - 1;

    it.each(['end', 'resetAndDestroy'] as const)('has it sent once more, on a new one (%s)', async (leave) => {
      for (let rounds = 1; rounds <= 5; rounds++) {
        await used();
        const open = server.sockets.length;
        server.onData = (socket) => {
          if (server.sockets.indexOf(socket) < open) socket[leave]();
          else socket.write(short);
        };
        expect(await answered(lost)).toMatchObject({ status: 200, body: 'hi', error: undefined });
        expect(server.sockets).toHaveLength(open + 1);
        server.onData = answering(short);
      }
    });

    it('breaks it off when the new one is lost too', async () => {
      await used();
      server.onData = (socket) => socket.resetAndDestroy();
      expect((await answered(lost)).error?.kind).toBe('network');
      await passed(30);
      expect(timesReceived()).toBe(2);
    });

    it('breaks it off when it had served nothing before, as on every new one', async () => {
      server.onData = (socket) => socket.end();
      expect((await answered(lost)).error?.kind).toBe('network');
      expect(timesReceived()).toBe(1);
    });

    it('breaks it off once a byte of the answer has come', async () => {
      await used();
      server.onData = async (socket) => {
        socket.write('H');
        await passed(20);
        socket.end();
      };
      expect((await answered(lost)).error?.kind).toBe('network');
      expect(timesReceived()).toBe(1);
    });

    it('does not have it sent again when it was given up', async () => {
      await used();
      server.onData = () => undefined;
      const exchange = send(lost);
      await expect.poll(timesReceived).toBe(1);
      exchange[Symbol.dispose]();
      await expect.poll(() => server.open()).toBe(0);
      expect(timesReceived()).toBe(1);
    });
  });

  it('that is lost has a large body sent whole once more', async () => {
    await used();
    const body = [Buffer.alloc(300_000, 'a'), Buffer.alloc(300_000, 'b')];
    server.onData = (socket, all) => {
      if (socket === server.sockets[0]) socket.resetAndDestroy();
      else if (all.length > 600_000) socket.write(short);
    };
    expect(await answered({ body })).toMatchObject({ body: 'hi', error: undefined });
    expect(server.received[1]?.endsWith('a'.repeat(300_000) + 'b'.repeat(300_000))).toBe(true);
  });

  it('does not keep the process alive while it is not used', async () => {
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    server.onData = () => undefined;
    const answer = answered();
    await expect.poll(received).not.toBe('');
    const before = sockets();
    server.sockets[0]?.write(short);
    await answer;
    await expect.poll(() => before - sockets()).toBe(1);
  });
});

describe('a connection that is not made', () => {
  it('fails when no process listens there', async () => {
    const other = await startRawServer();
    await other[Symbol.asyncDispose]();
    expect((await record(client.send(requestTo(other.origin)))).error?.kind).toBe('network');
  });

  it('fails when its time has passed, and was never sent', async () => {
    await using listener = await startFullListener();
    await using hurried = createUpstream({ connectTimeoutMs: 200 });
    const exchange = hurried.send(requestTo(listener.origin));
    await expect(exchange.sent()).rejects.toMatchObject({ name: 'UpstreamError', kind: 'timeout' });
  });

  it.each(['at once', 'while it waits'])('is given up at once with its exchange: %s', async (when) => {
    await using listener = await startFullListener();
    await using hurried = createUpstream({ connectTimeoutMs: 200 });
    const abort = new AbortController();
    const exchange = hurried.send(requestTo(listener.origin, { signal: abort.signal }));
    if (when === 'while it waits') await passed(50);
    abort.abort();
    await expect(exchange.sent()).rejects.toMatchObject({ kind: 'cancelled' });
  });

  it('carries nothing of a request that was given up meanwhile', async () => {
    send()[Symbol.dispose]();
    await passed(50);
    expect(received()).toBe('');
  });
});

describe('giving an exchange up closes its connection at once', () => {
  it.each([
    ['before an answer', ''],
    ['within the head', ok],
    ['within the body', `${chunked}5\r\nab`],
  ])('%s', async (_when, begin) => {
    server.onData = (socket) => socket.write(begin);
    const abort = new AbortController();
    const answer = answered({ signal: abort.signal });
    await expect.poll(received).not.toBe('');
    await passed(20);
    abort.abort();
    await expect.poll(() => server.open()).toBe(0);
    expect((await answer).error?.kind).toBe('cancelled');
  });

  it('while its body is written', async () => {
    server.onData = (socket) => socket.pause();
    const exchange = send({ body: [Buffer.alloc(40_000_000)] });
    await expect.poll(received).not.toBe('');
    exchange[Symbol.dispose]();
    server.onData = () => undefined;
    server.sockets[0]?.resume();
    await expect.poll(() => server.open()).toBe(0);
  });

  it('when it takes too long', async () => {
    server.onData = (socket) => socket.write(`${chunked}2\r\nab\r\n`);
    expect(await answered({ timeoutMs: 1_000 })).toMatchObject({ body: 'ab', error: { kind: 'timeout' } });
    await expect.poll(() => server.open()).toBe(0);
  });

  it('but not when it was released: what still comes is dropped, and the connection used again', async () => {
    server.onData = (socket) => socket.write(`${chunked}2\r\nab\r\n`);
    const exchange = send();
    await exchange.read();
    exchange.release();
    exchange[Symbol.dispose]();
    server.sockets[0]?.write('2\r\ncd\r\n0\r\n\r\n');
    await expect.poll(() => exchange.isOver).toBe(true);
    server.onData = answering(short);
    await nextTick();
    expect(await answered()).toMatchObject({ body: 'hi' });
    expect(server.sockets).toHaveLength(1);
  });

  it('when its client is closed, in every state', async () => {
    const idle = await answered();
    server.onData = (socket, all) => all.includes('/begun') && socket.write(`${chunked}1\r\na\r\n`);
    const begun = send({ path: '/begun' });
    await begun.head();
    const others = [send({ path: '/waits' }), send()];
    await client[Symbol.asyncDispose]();
    for (const exchange of [begun, ...others]) expect((await record(exchange)).error?.kind).toBe('network');
    expect(idle.error).toBeUndefined();
    expect((await answered()).error?.kind).toBe('network');
  });
});
