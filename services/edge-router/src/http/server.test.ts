import { request as httpRequest } from 'node:http';
import { type GatewayError, toGatewayError } from '@gateway/errors';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BodyMemory } from '../body/body-memory.ts';
import { type EdgeRequest, readBody } from '../body/read-body.ts';
import { RawClient } from './__fixtures__/raw-client.ts';
import { type EdgeResponse, sendError, sendJson } from './respond.ts';
import { HttpServer } from './server.ts';

const limits = { limitBytes: 100_000, acceptsCompression: true };
const pace = { idleMs: 20_000, leastBytesPerSecond: 4_096, windowMs: 60_000 };
const memory = new BodyMemory({ limitBytes: 1_000_000, largestBodyBytes: limits.limitBytes, waitMs: 1_000 });
const client = new AbortController();
const host = 'host: gateway\r\n';
const close = 'connection: close\r\n';
const post = (path: string, headers: string) => `POST ${path} HTTP/1.1\r\n${host}${headers}\r\n`;
const get = (path: string, headers = close) => `GET ${path} HTTP/1.1\r\n${host}${headers}\r\n`;
const statusOf = (answer: string) => Number(answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
const refusal = (code: string) => ({ error: { code, message: expect.any(String) } });

/** The request's id, exactly once, of version 7. */
const requestId = /^(?!.*x-request-id.*x-request-id).*\r\nx-request-id: [0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\r\n/s;

describe('HttpServer', () => {
  const config = { host: '127.0.0.1', port: 0, headersTimeoutMs: 300, bodyTimeoutMs: 600, writeStallMs: 60_000 };
  /** The requests that reached the listener, as `path` or `path failed`. */
  let handled: string[] = [];
  let release = (): void => undefined;
  let released = Promise.resolve();
  let refused: string[] = [];
  const events = {
    clientStalled: () => undefined,
    refused: ({ code }: GatewayError) => void refused.push(code),
  };
  let server: HttpServer;
  let port: number;

  beforeAll(async () => {
    server = new HttpServer(listener, config, events);
    port = await server.listen();
  });
  afterAll(() => server.drain(0));
  beforeEach(() => {
    handled = [];
    refused = [];
    released = new Promise((resolve) => {
      release = resolve;
    });
  });

  async function listener(request: EdgeRequest, response: EdgeResponse): Promise<void> {
    const path = request.url ?? '';
    handled.push(path);
    try {
      using allocation = memory.open('token', client.signal);
      const rules = { ...limits, pace, allocation };
      if (path === '/begun') response.write('begun so');
      if (path === '/later' || path === '/begun') await released;
      if (path === '/begun') return void response.end(' far');
      if (path === '/refused') throw toGatewayError('refused');
      const bytes = request.method === 'POST' ? (await readBody(request, rules)).bytes.length : 0;
      sendJson(response, 200, { path, bytes });
    } catch (thrown) {
      handled.push(`${path} failed`);
      const dialect = path === '/messages' ? 'messages' : 'chat';
      sendError(response, toGatewayError(thrown), dialect);
    }
  }

  it.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x00\x00\x00'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an HTTP/2 version in an HTTP/1 request', 'GET / HTTP/2.0\r\nhost: x\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
    ['an unknown method', `FETCH / HTTP/1.1\r\n${host}\r\n`],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two hosts', get('/', 'host: other\r\n')],
    ['two equal hosts', get('/', host)],
    ['a host that is none', 'GET / HTTP/1.1\r\nhost: a/b\r\n\r\n'],
    ['a target of another scheme', get('ftp://gateway/')],
    ['a target with a user', get('http://user:password@gateway/')],
    ['a URL without a host', get('http:///v1/models')],
    ['a URL whose host is empty but for a port', get('http://:80/')],
    ['a URL whose host is none', get('http://a%2fb^/')],
    ['a URL with a fragment', get('http://gateway/#x')],
    ['a URL without a host header', 'GET http://gateway/ HTTP/1.1\r\n\r\n'],
    ['a URL beside two host headers', get('http://gateway/', host)],
    ['a target that is no path and no URL', get('v1/models')],
    ['a target with a fragment', get('/#x')],
    ['a target with a space', get('/ /')],
    ['a length and chunks', post('/', 'content-length: 3\r\ntransfer-encoding: chunked\r\n')],
    ['two lengths', post('/', 'content-length: 3\r\ncontent-length: 4\r\n')],
    ['two equal lengths', post('/', 'content-length: 3\r\ncontent-length: 3\r\n')],
    ['a list of lengths', post('/', 'content-length: 3, 3\r\n')],
    ['a length with a sign', post('/', 'content-length: +3\r\n')],
    ['a negative length', post('/', 'content-length: -3\r\n')],
    ['a hexadecimal length', post('/', 'content-length: 0x3\r\n')],
    ['an enormous length', post('/', `content-length: ${'9'.repeat(30)}\r\n`)],
    ['chunks twice', post('/', 'transfer-encoding: chunked, chunked\r\n')],
    ['another coding before chunks', `${post('/', 'transfer-encoding: gzip, chunked\r\n')}0\r\n\r\n`],
    ['another coding than chunks', post('/', 'transfer-encoding: identity\r\n')],
    ['a disguised coding', post('/', 'transfer-encoding: xchunked\r\n')],
    ['chunks in HTTP/1.0', 'POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a space before a colon', get('/', 'x-header : a\r\n')],
    ['a folded header', get('/', 'x-header: a\r\n b\r\n')],
    ['a NUL in a header', get('/', 'x-header: a\x00b\r\n')],
    ['a bare CR in a header', get('/', 'x-header: a\rb\r\n')],
    ['bare line feeds', 'GET / HTTP/1.1\nhost: x\n\n'],
  ])('refuses %s with 400 and closes, and no endpoint hears of it', async (_what, text) => {
    using client = new RawClient(port);
    const answer = await client.send(text).answer();
    expect(statusOf(answer)).toBe(400);
    expect(answer).toMatch(/\r\ncontent-type: application\/json; charset=utf-8\r\n/i);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toMatch(/\r\ndate: /i);
    expect(bodyOf(answer)).toEqual(refusal('invalid_request'));
    expect(handled).toEqual([]);
    expect(refused).toEqual(['invalid_request']);
  });

  it.each([
    ['a chunk size that is none', 'zz\r\n'],
    ['an enormous chunk size', 'fffffffffffffffff\r\n'],
    ['a chunk that is longer than it says', '1\r\n{}\r\n'],
    ['a line feed in a chunk extension', '1;a\n{\r\n'],
    ['a chunk that ends in a line feed', '1\r\n{\n'],
  ])('refuses %s', async (_what, chunk) => {
    const head = post('/', 'transfer-encoding: chunked\r\n');
    for (const pieces of [[head + chunk], [head, chunk]]) {
      using client = new RawClient(port);
      for (const piece of pieces) {
        client.send(piece);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const answer = await client.answer();
      expect(statusOf(answer)).toBe(400);
      expect(bodyOf(answer)).toEqual(refusal('invalid_request'));
    }
  });

  it('refuses headers that are too large with 431', async () => {
    using client = new RawClient(port);
    const answer = await client.send(get('/', `x-header: ${'a'.repeat(40_000)}\r\n`)).answer();
    expect(statusOf(answer)).toBe(431);
    expect(answer).toMatch(requestId);
    expect(bodyOf(answer)).toEqual(refusal('invalid_request'));
  });

  it('refuses a tunnel with 405', async () => {
    using client = new RawClient(port);
    const answer = await client.send(`CONNECT example.org:443 HTTP/1.1\r\n${host}\r\n`).answer();
    expect(statusOf(answer)).toBe(405);
    expect(answer).toMatch(/\r\nallow: GET, HEAD, POST\r\n/);
    expect(bodyOf(answer)).toEqual(refusal('method_not_allowed'));
  });

  it('takes HTTP/1.0 without a host, and an IPv6 host with a port', async () => {
    for (const head of ['GET /a HTTP/1.0\r\n\r\n', `GET /a HTTP/1.1\r\nhost: [::1]:8080\r\n${close}\r\n`]) {
      using client = new RawClient(port);
      expect(statusOf(await client.send(head).answer())).toBe(200);
    }
  });

  it.each([
    ['http://gateway/a', '/a'],
    ['HTTP://GATEWAY:8080/a?b=http://c/d', '/a?b=http://c/d'],
    ['https://elsewhere.example/a/../b', '/a/../b'],
    ['http://[::1]:80//a', '//a'],
    ['http://gateway', '/'],
    ['http://gateway?a', '/?a'],
    ['*', '*'],
  ])('takes the target %s for %s', async (target, path) => {
    using client = new RawClient(port);
    const answer = await client.send(get(target)).answer();
    expect(statusOf(answer)).toBe(200);
    expect(handled).toEqual([path]);
  });

  it('cuts off slow headers with 408', async () => {
    using client = new RawClient(port);
    const answer = await client.send('GET / HTTP/1.1\r\nhost:').answer();
    expect(statusOf(answer)).toBe(408);
    expect(answer).toMatch(requestId);
    expect(bodyOf(answer)).toEqual(refusal('invalid_request'));
  });

  it("cuts off slow bodies with 408, in the endpoint's shape", async () => {
    using chat = new RawClient(port);
    using messages = new RawClient(port);
    chat.send(`${post('/chat', 'content-length: 10\r\n')}{"a`);
    messages.send(`${post('/messages', 'content-length: 10\r\n')}{"a`);
    const chatAnswer = await chat.answer();
    expect(bodyOf(chatAnswer)).toEqual(refusal('invalid_request'));
    expect(chatAnswer).toMatch(requestId);
    const answer = await messages.answer();
    expect(statusOf(answer)).toBe(408);
    expect(answer).toMatch(requestId);
    expect(bodyOf(answer)).toEqual({ type: 'error', error: { type: 'api_error', message: expect.any(String) } });
  });

  it('closes a connection that says nothing, without a word', async () => {
    using client = new RawClient(port);
    expect(await client.answer()).toBe('');
  });

  it('answers pipelined requests in order, each with its own', async () => {
    using client = new RawClient(port);
    client.send(get('/later', '')).send(`${post('/second', 'content-length: 7\r\n')}{"a":1}${get('/third')}`);
    await expect.poll(() => handled).toEqual(['/later', '/second', '/third']);
    expect(client.text).toBe('');
    release();
    const answers = (await client.answer())
      .split('HTTP/1.1 ')
      .slice(1)
      .map((answer) => bodyOf(answer));
    expect(answers).toEqual([
      { path: '/later', bytes: 0 },
      { path: '/second', bytes: 7 },
      { path: '/third', bytes: 0 },
    ]);
  });

  it('answers a request before it refuses what followed it on the same connection', async () => {
    for (const follower of ['nonsense\r\n\r\n', `CONNECT a:443 HTTP/1.1\r\n${host}\r\n`]) {
      using client = new RawClient(port);
      client.send(get('/later', '') + follower);
      await expect.poll(() => handled).toContain('/later');
      expect(client.text).toBe('');
      release();
      const answers = (await client.answer()).split('HTTP/1.1 ').slice(1);
      expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', follower.startsWith('C') ? '405' : '400']);
    }
  });

  it('acts on nothing that follows an answer which closes the connection', async () => {
    using client = new RawClient(port);
    client.send(`${post('/refused', 'content-length: 2\r\n')}{}${get('/after')}`);
    const answer = await client.answer();
    expect(statusOf(answer)).toBe(500);
    expect(answer).not.toContain('HTTP/1.1 200');
    expect(handled).toEqual(['/refused', '/refused failed']);
  });

  it('reads the body of a GET as a body', async () => {
    using client = new RawClient(port);
    const inside = get('/smuggled');
    client.send(get('/first', `content-length: ${inside.length}\r\n`) + inside + get('/second'));
    expect((await client.answer()).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(handled).toEqual(['/first', '/second']);
  });

  it('asks a client to send its body when it is wanted', async () => {
    using client = new RawClient(port);
    client.send(post('/', `content-length: 7\r\nexpect: 100-continue\r\n${close}`));
    expect(await client.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    const answer = await client.send('{"a":1}').answer();
    expect(bodyOf(answer.slice('HTTP/1.1 100 Continue\r\n\r\n'.length))).toEqual({ path: '/', bytes: 7 });
  });

  it('refuses a body that is too large instead of asking for it', async () => {
    using client = new RawClient(port);
    const answer = await client.send(post('/', 'content-length: 100001\r\nexpect: 100-continue\r\n')).answer();
    expect(statusOf(answer)).toBe(413);
    expect(bodyOf(answer)).toEqual(refusal('body_too_large'));
  });

  it('refuses an unknown expectation with 417', async () => {
    using client = new RawClient(port);
    const answer = await client.send(get('/', 'expect: wonders\r\n')).answer();
    expect(statusOf(answer)).toBe(417);
    expect(bodyOf(answer)).toEqual(refusal('invalid_request'));
    expect(handled).toEqual([]);
    expect(refused).toEqual(['invalid_request']);
  });

  it('goes on in HTTP/1.1 whatever a client would like to upgrade to', async () => {
    using client = new RawClient(port);
    client.send(`${post('/', 'connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 7\r\n')}{"a":1}`);
    const answer = await client.answer();
    expect(statusOf(answer)).toBe(200);
    expect(bodyOf(answer)).toEqual({ path: '/', bytes: 7 });
  });

  it('outlives clients that reset the connection, anywhere', async () => {
    for (const text of ['GET /', post('/', 'content-length: 10\r\n'), `${post('/', 'content-length: 10\r\n')}{"a`]) {
      const client = new RawClient(port);
      client.send(text);
      await new Promise((resolve) => setTimeout(resolve, 20));
      client.reset();
    }
    await expect.poll(() => handled.toSorted()).toEqual(['/', '/', '/ failed', '/ failed']);
    using client = new RawClient(port);
    expect(statusOf(await client.send(get('/alive')).answer())).toBe(200);
  });

  it('answers an upload that a client ends too early', async () => {
    using client = new RawClient(port);
    const answer = await client
      .send(`${post('/', 'content-length: 10\r\n')}{"a`)
      .endSending()
      .answer();
    expect(statusOf(answer)).toBe(400);
    expect(handled).toEqual(['/', '/ failed']);
  });

  it('takes a client that closes its side for one that has left, and answers nothing', async () => {
    using client = new RawClient(port);
    client.send(get('/later', ''));
    await expect.poll(() => handled).toEqual(['/later']);
    expect(await client.endSending().answer()).toBe('');
    release();
  });

  it('keeps a connection after errors that left nothing unread', async () => {
    using client = new RawClient(port);
    await client.send(post('/', 'content-length: 3\r\n')).send('{"a').until('invalid_json');
    expect(statusOf(client.text)).toBe(400);
    await client.send(get('/next', '')).until('/next');
  });

  it('lets a refused client finish its upload, so that it sees the answer', async () => {
    const bytes = Buffer.alloc(8 * 1024 * 1024, ' ');
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest({ port, host: '127.0.0.1', method: 'POST' }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode));
      });
      request.once('error', reject);
      request.end(bytes);
    });
    expect(answer).toBe(413);
  });

  it('asks clients to go elsewhere before it drains, and takes what comes meanwhile', async () => {
    const leaving = new HttpServer(listener, config, events);
    const ownPort = await leaving.listen();
    using kept = new RawClient(ownPort);
    using busy = new RawClient(ownPort);
    await kept.send(get('/first', '')).until('"/first"');
    expect(kept.text).toContain('Connection: keep-alive');
    busy.send(get('/later', ''));
    await expect.poll(() => handled).toContain('/later');
    leaving.announceDrain();
    expect(await kept.send(get('/second', '')).answer()).toMatch(/"\/first".*connection: close.*"\/second"/is);
    release();
    expect(await busy.answer()).toMatch(/connection: close.*"\/later"/is);
    using late = new RawClient(ownPort);
    expect(await late.send(get('/late', '')).answer()).toMatch(/connection: close.*"\/late"/is);
    await leaving.drain(10_000);
  });

  it('answers once more on a connection whose answer had begun when the drain began', async () => {
    const leaving = new HttpServer(listener, config, events);
    using busy = new RawClient(await leaving.listen());
    busy.send(get('/begun', ''));
    await busy.until('begun so');
    const drained = leaving.drain(10_000);
    release();
    await busy.until('far');
    expect(await busy.send(get('/once-more', '')).answer()).toMatch(/connection: close.*"\/once-more"/is);
    await drained;
  });

  it('answers once more on a connection that was used while the drain was announced', async () => {
    const leaving = new HttpServer(listener, config, events);
    const ownPort = await leaving.listen();
    using busy = new RawClient(ownPort);
    using unused = new RawClient(ownPort);
    busy.send(get('/begun', ''));
    await busy.until('begun so');
    leaving.announceDrain();
    release();
    await busy.until('far');
    const drained = leaving.drain(10_000);
    expect(await unused.answer()).toBe('');
    expect(await busy.send(get('/once-more', '')).answer()).toMatch(/connection: close.*"\/once-more"/is);
    await drained;
  });

  it('answers a request of which only a part had arrived when the drain began', async () => {
    const leaving = new HttpServer(listener, config, events);
    const ownPort = await leaving.listen();
    using slow = new RawClient(ownPort);
    using other = new RawClient(ownPort);
    const request = get('/slow', '');
    slow.send(request.slice(0, 10));
    // What was sent before has arrived before.
    await other.send(get('/other', '')).until('"/other"');
    const drained = leaving.drain(10_000);
    expect(await slow.send(request.slice(10)).answer()).toMatch(/connection: close.*"\/slow"/is);
    await drained;
  });

  it('drains: running requests end, idle connections are closed, nothing new begins', async () => {
    const draining = new HttpServer(listener, config, events);
    const ownPort = await draining.listen();
    using busy = new RawClient(ownPort);
    using idle = new RawClient(ownPort);
    await idle.send(get('/idle', '')).until('/idle');
    busy.send(get('/later', ''));
    await expect.poll(() => handled).toContain('/later');
    const drained = draining.drain(10_000);
    await idle.answer();
    release();
    expect(await busy.answer()).toContain('"path":"/later"');
    await drained;
    using late = new RawClient(ownPort);
    expect(await late.closed).toBe('reset');
  });
});
