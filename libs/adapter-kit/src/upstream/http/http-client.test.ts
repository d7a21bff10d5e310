import { request as nodeRequest } from 'node:http';
import { setImmediate as nextTurn, setTimeout as passed } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answering, type RawServer, startRawServer } from '../../__fixtures__/raw-server.ts';
import { RecordedResponse } from '../../__fixtures__/recorded-response.ts';
import { HttpClient } from './http-client.ts';
import type { HttpCall, HttpRequest } from './http-exchange.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const short = `${ok}content-length: 2\r\n\r\nhi`;
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;

let client: HttpClient;
let server: RawServer;

beforeEach(async () => {
  client = new HttpClient(5_000);
  server = await startRawServer(answering(short));
});

/** Whatever was done: nothing stays open. */
afterEach(async () => {
  client[Symbol.dispose]();
  await expect.poll(() => server.open()).toBe(0);
  await server[Symbol.asyncDispose]();
});

describe('a request', () => {
  it('goes out in one piece, with the length of its body', async () => {
    const writes: string[] = [];
    server.onData = (socket, received) => {
      writes.push(received);
      socket.write(short);
    };
    await answered({ path: '/v1/x?y=z', headers: { 'x-a': 'ä', accept: 'text/event-stream' }, body: '{"é":1}' });
    const host = new URL(server.origin).host;
    const lines = [
      'POST /v1/x?y=z HTTP/1.1',
      `host: ${host}`,
      'connection: keep-alive',
      'x-a: ä',
      'accept: text/event-stream',
    ];
    const body = Buffer.from('{"é":1}').toString('latin1');
    expect(writes).toEqual([`${lines.join('\r\n')}\r\ncontent-length: 8\r\n\r\n${body}`]);
  });

  it('tells a length only where there may be a body', async () => {
    await answered({ method: 'GET', body: '' });
    await answered({ method: 'POST', body: '' });
    const [, get, post] = received().split(/(?:GET|POST) /);
    expect(get).not.toContain('content-length');
    expect(post).toContain('content-length: 0\r\n');
  });

  it.each([
    ['bytes', (size: number) => Buffer.alloc(size, 'abc')],
    ['text', (size: number) => Buffer.alloc(size, 'abc').toString()],
    [
      'pieces',
      (size: number) => [Buffer.alloc(size >> 1, 'abc'), Buffer.alloc(0), Buffer.alloc(size - (size >> 1), 'x')],
    ],
  ])('takes its body in any size, as %s', async (_form, ofSize) => {
    for (const size of [0, 1, 16 * 1024, 16 * 1024 + 1, 3_000_000]) {
      const body = ofSize(size);
      const bytes = Array.isArray(body) ? Buffer.concat(body) : Buffer.from(body);
      let seen = '';
      server.onData = (socket, all) => {
        seen = all.slice(all.lastIndexOf('\r\n\r\n') + 4);
        if (seen.length === size) socket.write(short);
      };
      client[Symbol.dispose]();
      client = new HttpClient(5_000);
      const response = await answered({ body });
      expect(response.isWhole).toBe(true);
      expect(seen === bytes.toString('latin1')).toBe(true);
    }
  });

  it.each([
    ['a line end in a value', { headers: { 'x-a': 'b\r\nx-c: d' } }],
    ['a line feed in a value', { headers: { 'x-a': 'b\nx-c: d' } }],
    ['a carriage return in a value', { headers: { 'x-a': 'b\rc' } }],
    ['a zero byte in a value', { headers: { 'x-a': 'b\0' } }],
    ['a character that is no byte', { headers: { 'x-a': '€' } }],
    ['a line end in a name', { headers: { 'x-a: b\r\nx-c': 'd' } }],
    ['an empty name', { headers: { '': 'd' } }],
    ['a length of its own', { headers: { 'Content-Length': '5' } }],
    ['a transfer coding', { headers: { 'transfer-encoding': 'chunked' } }],
    ['a host of its own', { headers: { host: 'example.com' } }],
    ['a line end in its path', { path: '/a HTTP/1.1\r\nx: y' }],
    ['a blank in its path', { path: '/a b' }],
    ['a path that does not begin with a slash', { path: 'http://example.com/' }],
  ])('with %s is not sent', (_what, request) => {
    expect(() => send(request)).toThrow(expect.objectContaining({ name: 'UpstreamError', kind: 'network' }));
    expect(server.sockets).toHaveLength(0);
  });

  it.each(['ftp://127.0.0.1', 'nothing', ''])('to %j is not sent', (origin) => {
    expect(() => client.send(origin, toPost({}), new RecordedResponse())).toThrow(
      expect.objectContaining({ kind: 'network' }),
    );
  });

  it('says what it is told now, although it shares headers with an earlier one', async () => {
    const headers = Object.freeze({ 'x-a': '1' });
    await answered({ path: '/one', headers });
    await answered({ path: '/two', headers, body: 'xyz' });
    await answered({ path: '/two', headers, method: 'GET', body: '' });
    expect(received()).toMatch(/^POST \/one .*POST \/two .*content-length: 3\r\n\r\nxyzGET \/two /s);
  });
});

describe('a response', () => {
  it('is what Node’s own client is told of it', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.array(fc.nat(), { maxLength: 3 }), async (text, cuts) => {
        server.onData = (socket) => writeInPieces(socket, text, cuts);
        const [ours, theirs] = [await answered({ path: '/' }), await toldByNode(server.origin)];
        expect({ status: ours.status, body: ours.body, headers: { ...ours.headers } }).toEqual(theirs);
      }),
      { numRuns: 60 },
    );
  });

  it('that comes early ends the request', async () => {
    const tooLarge = 'HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\n\r\nmuch';
    let isAnswered = false;
    server.onData = (socket) => {
      if (!isAnswered) socket.write(tooLarge);
      isAnswered = true;
    };
    const response = await answered({ body: [Buffer.alloc(40_000_000)] });
    expect(response).toMatchObject({ status: 413, body: 'much', isWhole: true });
    await expect.poll(() => server.open()).toBe(0);
    expect(received().length).toBeLessThan(40_000_000);
  });

  it('is held back while its call is paused, and told from then on', async () => {
    const total = 64 * 1024 * 1024;
    server.onData = (socket) => {
      socket.write(`${ok}content-length: ${total}\r\n\r\n`);
      socket.write(Buffer.alloc(total));
    };
    const response = new RecordedResponse();
    let size = 0;
    response.onTold = () => {
      size += response.pieces.pop()?.length ?? 0;
      if (size > 0 && !response.isOver) call.pause();
    };
    const call = client.send(server.origin, toPost({}), response);
    await expect.poll(() => size).toBeGreaterThan(0);
    const held = size;
    await passed(100);
    expect(size).toBe(held);
    expect(server.sockets[0]?.writableLength).toBeGreaterThan(0);
    response.onTold = () => {
      size += response.pieces.pop()?.length ?? 0;
    };
    call.resume();
    await response.over();
    expect(size).toBe(total);
  });

  it('of a call that is paused from the start is told once it goes on', async () => {
    const response = new RecordedResponse();
    const call = client.send(server.origin, toPost({}), response);
    call.pause();
    await expect.poll(() => server.received[0]).toBeTruthy();
    await passed(50);
    expect(response.status).toBeUndefined();
    call.resume();
    expect(await response.over()).toMatchObject({ isWhole: true, body: 'hi' });
  });
});

describe('a connection', () => {
  it('is used again, the last one first', async () => {
    await Promise.all([answered({}), answered({}), answered({})]);
    expect(server.sockets).toHaveLength(3);
    for (let requests = 0; requests < 5; requests++) {
      await nextTurns();
      await answered({ path: `/again-${requests}` });
    }
    expect(server.sockets).toHaveLength(3);
    expect(server.received.filter((all) => all.includes('/again-'))).toHaveLength(1);
  });

  it('carries one request at a time, and there are as many as it takes', async () => {
    server.onData = () => undefined;
    const responses = Array.from({ length: 20 }, () => send({}).response);
    await expect.poll(() => server.sockets.length).toBe(20);
    for (const socket of server.sockets) socket.write(short);
    for (const response of responses) expect(await response.over()).toMatchObject({ isWhole: true });
  });

  it.each([
    ['announces to close', `${ok}connection: close\r\ncontent-length: 0\r\n\r\n`],
    ['keeps it for too short', `${ok}keep-alive: timeout=2, max=5\r\ncontent-length: 0\r\n\r\n`],
    ['sends more than its answer', `${ok}content-length: 0\r\n\r\n${short}`],
    ['ends its answer with it', `HTTP/1.0 200 OK\r\n\r\n`],
  ])('is not used again when the provider %s', async (_what, answer) => {
    server.onData = (socket) => (answer.startsWith('HTTP/1.0') ? socket.end(answer) : socket.write(answer));
    expect(await answered({})).toMatchObject({ isWhole: true, body: '' });
    await expect.poll(() => server.open()).toBe(0);
    expect(await answered({})).toMatchObject({ isWhole: true, body: '' });
    expect(server.sockets).toHaveLength(2);
  });

  it('on which something comes that nobody asked for is closed', async () => {
    await answered({});
    server.sockets[0]?.write(`${ok}content-length: 4\r\n\r\nevil`);
    await expect.poll(() => server.open()).toBe(0);
    expect(await answered({})).toMatchObject({ body: 'hi' });
    expect(server.sockets).toHaveLength(2);
  });

  it('on which something waits to be read that nobody asked for is not written to', async () => {
    await Promise.all([answered({}), answered({})]);
    await nextTurns();
    for (const socket of server.sockets) socket.write(`${ok}content-length: 4\r\n\r\nevil`);
    // The bytes are there before the event loop asks for any.
    const until = performance.now() + 20;
    while (performance.now() < until);
    expect(await answered({})).toMatchObject({ body: 'hi' });
    expect(server.sockets).toHaveLength(3);
  });

  it('that the provider closes right after its answer carries no other request', async () => {
    server.onData = (socket) => socket.end(short);
    for (let requests = 0; requests < 50; requests++) {
      const both = await Promise.all([answered({}), answered({})]);
      expect(both.map(({ body, isWhole }) => `${body} ${isWhole}`)).toEqual(['hi true', 'hi true']);
    }
  });

  it('that is lost as a request goes out on it breaks that off: it is not sent twice', async () => {
    await answered({});
    server.onData = (socket) => socket.resetAndDestroy();
    expect((await answered({ path: '/lost' })).error?.kind).toBe('network');
    expect(server.sockets).toHaveLength(1);
  });

  it('that is not used is closed after half a minute, or shortly before the provider does', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      await answered({});
      await nextTurns();
      vi.advanceTimersByTime(29_000);
      await passed(20);
      expect(server.open()).toBe(1);
      vi.advanceTimersByTime(2_000);
      await expect.poll(() => server.open()).toBe(0);
      server.onData = answering(`${ok}Keep-Alive: timeout=5\r\ncontent-length: 0\r\n\r\n`);
      await answered({});
      await nextTurns();
      vi.advanceTimersByTime(4_000);
      await expect.poll(() => server.open()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('does not hold the process while it is not used', async () => {
    const held = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    server.onData = () => undefined;
    const { response } = send({});
    await expect.poll(() => received()).not.toBe('');
    const before = held();
    server.sockets[0]?.write(short);
    await response.over();
    await expect.poll(() => before - held()).toBe(1);
  });
});

describe('a call that can’t be carried', () => {
  it('breaks off when nobody listens there', async () => {
    const other = await startRawServer();
    await other[Symbol.asyncDispose]();
    const response = new RecordedResponse();
    client.send(other.origin, toPost({}), response);
    expect((await response.over()).error?.kind).toBe('network');
  });

  it('breaks off when its client is closed, in every state', async () => {
    const idle = await answered({});
    server.onData = (socket, all) => all.includes('/begun') && socket.write(`${chunked}1\r\na\r\n`);
    const begun = send({ path: '/begun' }).response;
    await begun.begun();
    const waiting = send({ path: '/waits' }).response;
    const connecting = send({}).response;
    client[Symbol.dispose]();
    for (const response of [begun, waiting, connecting]) expect(response.error?.kind).toBe('network');
    expect(idle.isWhole).toBe(true);
    expect(() => send({})).toThrow(expect.objectContaining({ kind: 'network' }));
  });

  it.each([
    ['before any answer', (): void => undefined],
    ['within the head', (socket: { write(text: string): void }) => socket.write(ok)],
    ['within the body', (socket: { write(text: string): void }) => socket.write(`${chunked}5\r\nab`)],
  ])('breaks off when the provider leaves %s', async (_when, begin) => {
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      server.onData = async (socket) => {
        begin(socket);
        await passed(10);
        socket[leave]();
      };
      expect((await answered({})).error?.kind).toBe('network');
    }
  });

  it('breaks off when the answer is not to be understood', async () => {
    server.onData = answering(`${ok}content-length: 1\r\ncontent-length: 2\r\n\r\nab`);
    expect((await answered({})).error).toMatchObject({ name: 'UpstreamError', kind: 'network' });
    await expect.poll(() => server.open()).toBe(0);
  });

  it('breaks off when its listener throws', async () => {
    const response = new RecordedResponse();
    response.onTold = () => {
      if (!response.isOver) throw new Error('a mistake');
    };
    client.send(server.origin, toPost({}), response);
    expect((await response.over()).error).toMatchObject({ kind: 'network', cause: { message: 'a mistake' } });
  });
});

describe('aborting a call closes its connection at once, and nothing is told', () => {
  it('while it is made', async () => {
    const { call, response } = send({});
    call.abort();
    await passed(30);
    expect(response).toMatchObject({ status: undefined, isOver: false });
    expect(server.received.join('')).toBe('');
  });

  it('while it waits for one that is free', async () => {
    await answered({});
    const { call, response } = send({ path: '/aborted' });
    call.abort();
    await passed(30);
    expect(response).toMatchObject({ status: undefined, isOver: false });
    expect(received()).not.toContain('/aborted');
    await answered({});
    expect(server.sockets).toHaveLength(1);
  });

  it.each([
    ['before an answer', ''],
    ['within the head', ok],
    ['within the body', `${chunked}5\r\nab`],
  ])('%s', async (_when, begin) => {
    server.onData = (socket) => socket.write(begin);
    const { call, response } = send({});
    await expect.poll(() => received()).not.toBe('');
    await passed(20);
    call.abort();
    await expect.poll(() => server.open()).toBe(0);
    expect(response.isOver).toBe(false);
  });

  it('while its body is written', async () => {
    server.onData = (socket) => socket.pause();
    const { call, response } = send({ body: [Buffer.alloc(40_000_000)] });
    await expect.poll(() => received()).not.toBe('');
    call.abort();
    server.onData = () => undefined;
    server.sockets[0]?.resume();
    await expect.poll(() => server.open()).toBe(0);
    expect(response.isOver).toBe(false);
  });

  it.each(['head', 'bytes'])('from within being told of its %s', async (what) => {
    server.onData = answering(`${chunked}2\r\nab\r\n0\r\n\r\n`);
    const response = new RecordedResponse();
    response.onTold = () => {
      if (what === 'head' || response.pieces.length > 0) call.abort();
    };
    const call = client.send(server.origin, toPost({}), response);
    await response.begun();
    await expect.poll(() => server.open()).toBe(0);
    expect(response).toMatchObject({ isOver: false, body: what === 'head' ? '' : 'ab' });
  });

  it('but not once it has ended, when that carries another', async () => {
    const first = send({});
    await first.response.over();
    const second = send({});
    first.call.pause();
    first.call.abort();
    expect(await second.response.over()).toMatchObject({ isWhole: true });
    expect(server.sockets).toHaveLength(1);
  });

  it('nor does a pause outlast its call', async () => {
    const response = new RecordedResponse();
    response.onTold = () => call.pause();
    const call = client.send(server.origin, toPost({}), response);
    await response.over();
    expect(await answered({})).toMatchObject({ isWhole: true });
    expect(server.sockets).toHaveLength(1);
  });
});

/** Until connections that have become free may be used again. */
async function nextTurns(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

function toPost(request: Partial<HttpRequest>): HttpRequest {
  return { method: 'POST', path: '/', headers: {}, body: '{}', ...request };
}

function send(request: Partial<HttpRequest>): { readonly call: HttpCall; readonly response: RecordedResponse } {
  const response = new RecordedResponse();
  return { call: client.send(server.origin, toPost(request), response), response };
}

function answered(request: Partial<HttpRequest>): Promise<RecordedResponse> {
  return send(request).response.over();
}

function received(): string {
  return server.received.join('');
}

async function writeInPieces(
  socket: RawServer['sockets'][number],
  text: string,
  cuts: readonly number[],
): Promise<void> {
  let start = 0;
  for (const end of [...cuts.map((place) => place % text.length).sort((a, b) => a - b), text.length]) {
    socket.write(Buffer.from(text.slice(start, end), 'latin1'));
    start = end;
    await passed(1);
  }
  if (!/content-length|chunked/i.test(text)) socket.end();
}

function toldByNode(origin: string): Promise<object> {
  return new Promise((resolve, reject) => {
    const request = nodeRequest(origin, { method: 'POST', agent: false }, async (response) => {
      const body = Buffer.concat(await Array.fromAsync<Buffer>(response)).toString('latin1');
      const headers: Record<string, string> = {};
      for (const [name, values] of Object.entries(response.headersDistinct)) headers[name] = values?.join(', ') ?? '';
      resolve({ status: response.statusCode, body, headers });
      response.socket.destroy();
    });
    request.on('error', reject).end('{}');
  });
}

const field = fc.tuple(fc.stringMatching(/^[xX]-[a-zA-Z0-9]{1,3}$/), fc.stringMatching(/^([!-~]([ -~]{0,6}[!-~])?)?$/));
const bytes = fc.uint8Array({ minLength: 1, maxLength: 30 }).map((some) => Buffer.from(some).toString('latin1'));

/** Responses of every framing. */
const answers = fc
  .tuple(
    fc.array(field, { maxLength: 5 }),
    fc.array(bytes, { maxLength: 5 }),
    fc.constantFrom('length', 'chunked', 'end'),
  )
  .map(([fields, pieces, framing]) => {
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const body = pieces.join('');
    if (framing === 'length') return `${ok}${lines}Content-Length: ${body.length}\r\n\r\n${body}`;
    if (framing === 'end') return `${ok}${lines}\r\n${body}`;
    const chunks = pieces.map((piece) => `${piece.length.toString(16).toUpperCase()}\r\n${piece}\r\n`).join('');
    return `${ok}${lines}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
  });
