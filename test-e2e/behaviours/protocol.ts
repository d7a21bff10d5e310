import { beforeAll, describe, expect, it } from 'vitest';
import { head, RawConnection } from '../client/raw-http.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';
import { hostileBodiesBehaviour } from './hostile-bodies.ts';

const posts = ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens', '/v1/responses'] as const;
const gets = ['/v1/models', '/v1/usage'] as const;

/** HTTP of the gateway: what it refuses and how, and what it never reveals. */
export function protocolBehaviour(gateway: () => Topology): void {
  describe('the protocol', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    const host = () => new URL(gateway().baseUrl).host;
    const authorized = () => ({ host: host(), authorization: `Bearer ${token}` });
    const refusal = (code: string) => ({ error: { code, message: expect.any(String) } });
    const messagesRefusal = (type: string) => ({ type: 'error', error: { type, message: expect.any(String) } });
    /** Sends a text on a connection of its own; returns the first final answer. */
    const ask = async (text: string, options?: { readonly bodiless: boolean }) => {
      using connection = new RawConnection(gateway());
      return await connection.send(text).answer(options);
    };
    const chat = (content: string) => JSON.stringify({ model: 'gateway/snel', messages: [{ role: 'user', content }] });
    const chatHead = (length: number, more = {}) =>
      head('POST /v1/chat/completions', { ...authorized(), 'content-length': String(length), ...more });
    const requestsWith = (marker: string) =>
      gateway()
        .simulator.requests()
        .filter(({ body }) => Buffer.from(body).includes(marker));

    it.each([
      ['no host', () => ({ host: [] })],
      ['two hosts', () => ({ host: [host(), 'other'] })],
      ['two equal hosts', () => ({ host: [host(), host()] })],
      ['a host that is none', () => ({ host: 'a/b@c' })],
      ['a length beside chunks', () => ({ 'content-length': '5', 'transfer-encoding': 'chunked' })],
      ['two lengths', () => ({ 'content-length': ['5', '6'] })],
      ['two equal lengths', () => ({ 'content-length': ['5', '5'] })],
      ['a list of lengths', () => ({ 'content-length': '5, 5' })],
      ['a length with a sign', () => ({ 'content-length': '+5' })],
      ['chunks twice', () => ({ 'transfer-encoding': ['chunked', 'chunked'] })],
      ['a coding before chunks', () => ({ 'transfer-encoding': 'gzip, chunked' })],
      ['a disguised coding', () => ({ 'transfer-encoding': 'chunked\x0b' })],
      ['a space before a colon', () => ({ 'transfer-encoding ': 'chunked' })],
      ['a folded header', () => ({ 'x-a': 'b\r\n c' })],
      ['a NUL in a header', () => ({ 'x-a': 'b\0c' })],
      ['a bare CR in a header', () => ({ 'x-a': 'b\rc' })],
    ])('refuses %s with 400, closes, and tells no provider', async (_what, headers) => {
      const marker = `smuggled-${crypto.randomUUID()}`;
      const inside = chat(marker);
      using connection = new RawConnection(gateway());
      connection
        .send(head('POST /v1/chat/completions', { ...authorized(), ...headers() }))
        .send(`0\r\n\r\n${chatHead(inside.length)}${inside}`);
      const answer = await connection.answer();
      expect(answer.status).toBe(400);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.get('connection')).toBe('close');
      expect(answer.json).toEqual(refusal('invalid_request'));
      await connection.ended;
      expect(connection.isQuiet).toBe(true);
      expect(requestsWith(marker)).toEqual([]);
    });

    it.each([
      ['what is no HTTP', 'Hello, gateway!\r\n\r\n', 400],
      ['HTTP/2 without TLS', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
      ['bare line feeds', 'GET /v1/models HTTP/1.1\nhost: x\n\n', 400],
      ['a URL of another scheme', 'GET ftp://gateway/v1/models HTTP/1.1\r\nhost: gateway\r\n\r\n', 400],
      ['a URL with a user', 'GET http://a:b@gateway/v1/models HTTP/1.1\r\nhost: gateway\r\n\r\n', 400],
      ['a URL with a fragment', 'GET http://gateway/v1/models#all HTTP/1.1\r\nhost: gateway\r\n\r\n', 400],
      ['a target with a fragment', 'GET /v1/models#all HTTP/1.1\r\nhost: gateway\r\n\r\n', 400],
      ['headers that are too large', `GET / HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
    ])('refuses %s', async (_what, text, status) => {
      const answer = await ask(text);
      expect(answer.status).toBe(status);
      expect(answer.json).toEqual(refusal('invalid_request'));
    });

    it('refuses a credential that is given twice', async () => {
      const bearer = `Bearer ${token}`;
      const chatAnswer = await ask(head('GET /v1/models', { host: host(), authorization: [bearer, bearer] }));
      expect(chatAnswer.status).toBe(401);
      expect(chatAnswer.json).toEqual(refusal('unauthorized'));
      const twice = { host: host(), 'x-api-key': [token, token], 'content-length': '0' };
      const messagesAnswer = await ask(head('POST /v1/messages', twice));
      expect(messagesAnswer.status).toBe(401);
      expect(messagesAnswer.json).toEqual(messagesRefusal('authentication_error'));
    });

    it.each([
      '/',
      '/v1',
      '/V1/models',
      '/v1/Models',
      '/v1/models/',
      '//v1/models',
      '/v1//models',
      '/v1/./models',
      '/v1/../v1/models',
      '/v1%2Fmodels',
      '/v1/%6Dodels',
      '/v1/models%00',
      '/v1/models/x',
      '/v1/models;x',
      '/v1/%zz',
      '/v1/messages/',
    ])('knows no %s', async (path) => {
      const answer = await ask(head(`GET ${path}`, authorized()));
      expect(answer.status).toBe(404);
      expect(answer.json).toEqual(refusal('not_found'));
    });

    it('knows no endpoint by the name of *', async () => {
      expect((await ask(head('OPTIONS *', authorized()))).status).toBe(404);
    });

    it.each([
      ...posts.flatMap((path) => ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'].map((method) => [method, path])),
      ...gets.flatMap((path) => ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'].map((method) => [method, path])),
    ] as [string, string][])('answers 405 to %s %s before it asks who calls', async (method, path) => {
      const answer = await ask(head(`${method} ${path}`, { host: host() }));
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toBe(path === '/v1/models' || path === '/v1/usage' ? 'GET, HEAD' : 'POST');
      expect(answer.json).toEqual(
        path.startsWith('/v1/messages') ? messagesRefusal('api_error') : refusal('method_not_allowed'),
      );
    });

    it('has no tunnels', async () => {
      const answer = await ask(head('CONNECT example.org:443', { host: 'example.org:443' }));
      expect(answer.status).toBe(405);
      expect(answer.json).toEqual(refusal('method_not_allowed'));
    });

    it('sends a client that wants a WebSocket for Responses back to HTTP', async () => {
      using connection = new RawConnection(gateway());
      const wanted = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
      const answer = await connection.send(head('GET /v1/responses', { ...authorized(), ...wanted })).answer();
      expect(answer.status).toBe(426);
      expect(answer.json).toEqual(refusal('invalid_request'));
      expect(answer.headers.get('upgrade')).toMatch(/\S/);
      expect(answer.headers.get('connection')).toMatch(/upgrade/i);
      expect(await connection.ended).toBe('closed');
    });

    it('continues in HTTP/1.1 whatever upgrade a client requests', async () => {
      for (const upgrade of ['websocket', 'h2c', 'TLS/1.0']) {
        const answer = await ask(head('GET /v1/models', { ...authorized(), connection: 'Upgrade', upgrade }));
        expect(answer.status).toBe(200);
      }
    });

    it('takes queries on any path', async () => {
      expect((await ask(head('GET /v1/models?a[b]=c&%zz&=&?', authorized()))).status).toBe(200);
      const body = chat('with a query');
      const target = 'POST /v1/chat/completions?beta=true&model=none';
      const answer = await ask(head(target, { ...authorized(), 'content-length': String(body.length) }) + body);
      expect(answer.status).toBe(200);
    });

    it('answers HEAD with the headers of GET and no body', async () => {
      for (const path of gets) {
        using connection = new RawConnection(gateway());
        const got = await connection.send(head(`GET ${path}`, authorized())).answer();
        const headOnly = await connection.send(head(`HEAD ${path}`, authorized())).answer({ bodiless: true });
        expect(headOnly.status).toBe(200);
        expect([...headOnly.headers.keys()]).toEqual([...got.headers.keys()]);
        expect(headOnly.headers.get('content-length')).toBe(String(Buffer.byteLength(got.text)));
        expect((await connection.send(head(`GET ${path}`, authorized())).answer()).status).toBe(200);
      }
    });

    it('sends no headers besides those of the specification and x-request-id, and never "not modified"', async () => {
      const conditional = { 'if-none-match': '*', 'if-modified-since': new Date().toUTCString() };
      const answer = await ask(head('GET /v1/models', { ...authorized(), ...conditional }));
      expect(answer.status).toBe(200);
      const expected = ['content-type', 'content-length', 'date', 'connection', 'keep-alive', 'x-request-id'];
      expect([...answer.headers.keys()].toSorted()).toEqual(expected.toSorted());
    });

    it('reads the body of a GET as a body', async () => {
      using connection = new RawConnection(gateway());
      const inside = head('GET /v1/nothing', { host: host() });
      connection.send(head('GET /v1/models', { ...authorized(), 'content-length': String(inside.length) }) + inside);
      connection.send(head('GET /v1/usage', authorized()));
      expect((await connection.answer()).json).toMatchObject({ object: 'list' });
      expect((await connection.answer()).json).toMatchObject({ object: 'usage' });
      expect(connection.isQuiet).toBe(true);
    });

    it('answers pipelined requests in order, each with its own', async () => {
      using connection = new RawConnection(gateway());
      const markers = Array.from({ length: 4 }, (_, n) => `pipelined-${n}-${crypto.randomUUID()}`);
      const bodies = markers.map((marker) => chat(marker));
      connection.send(bodies.map((body) => chatHead(body.length) + body).join(''));
      for (const marker of markers) {
        const answer = await connection.answer();
        expect(answer.status).toBe(200);
        expect(answer.text).toContain(`echo: ${marker}`);
      }
      expect(connection.isQuiet).toBe(true);
    });

    it('asks for a body that a client holds back only when it is wanted', async () => {
      const body = chat('held back');
      const expect100 = { expect: '100-continue' };
      using wanted = new RawConnection(gateway());
      expect((await wanted.send(chatHead(body.length, expect100)).answer()).status).toBe(100);
      expect((await wanted.send(body).answer()).status).toBe(200);

      expect((await ask(chatHead(16 * 1024 * 1024 + 1, expect100))).status).toBe(413);
      expect((await ask(chatHead(10, { ...expect100, authorization: 'Bearer none' }))).status).toBe(401);
      expect((await ask(chatHead(10, { ...expect100, 'content-encoding': 'lzma' }))).status).toBe(415);
    });

    it('refuses an expectation that it does not know', async () => {
      const answer = await ask(chatHead(0, { expect: 'wonders' }));
      expect(answer.status).toBe(417);
      expect(answer.json).toEqual(refusal('invalid_request'));
    });

    it('outlives clients that break off anywhere, and answers one that ends too early', async () => {
      const body = chat('broken off');
      for (const text of ['POST /v1/chat', chatHead(body.length), chatHead(body.length) + body.slice(0, 20)]) {
        using connection = new RawConnection(gateway());
        await connection.send(text).sendPatiently(Buffer.alloc(0));
        connection.reset();
      }
      using early = new RawConnection(gateway());
      const answer = await early
        .send(chatHead(body.length) + body.slice(0, 20))
        .endSending()
        .answer();
      expect(answer.status).toBe(400);
      expect((await ask(head('GET /v1/models', authorized()))).status).toBe(200);
    });

    it('puts no part of a request into the headers of an answer', async () => {
      const model = 'a\r\nx-injected: b';
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] });
      const answer = await ask(chatHead(body.length, { 'session-id': '\xff\xfe%0d%0a' }) + body);
      expect(answer.status).toBe(404);
      expect(answer.json).toEqual(refusal('model_not_found'));
      expect([...answer.headers.keys()].filter((name) => name.startsWith('x-'))).toEqual(['x-request-id']);
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    });

    hostileBodiesBehaviour(gateway);
  });
}
