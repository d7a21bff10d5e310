import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type OAuthCredential, type Proxies, Secret } from '@gateway/config';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tokenEndpoint } from './token-endpoint.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

async function endpointThat(answer: Answer) {
  const forms: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    forms.push(new URLSearchParams(await text(request)));
    answer(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // The server listens on TCP.
  const { port } = server.address() as AddressInfo;
  const ask = (credential: Partial<OAuthCredential> = {}, timeoutMs = roomMs(5_000), proxies: Partial<Proxies> = {}) =>
    tokenEndpoint({ httpsProxy: '', httpProxy: '', noProxy: '', ...proxies }, timeoutMs)(
      { ...sample, tokenUrl: `http://127.0.0.1:${port}/token`, ...credential },
      new Secret('rt-canary'),
      0,
    );
  return { ask, forms, server, url: `http://127.0.0.1:${port}` };
}

const sample: OAuthCredential = {
  kind: 'oauth',
  tokenUrl: '',
  clientId: 'me',
  clientSecret: undefined,
  refreshToken: new Secret('first-canary'),
  scopes: [],
};

const sendJson = (response: ServerResponse, json: unknown) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(json));
};

describe('a request for tokens', () => {
  it('is the form of the standard, with what is configured', async () => {
    const { ask, forms } = await endpointThat((response) => sendJson(response, { access_token: 'at', expires_in: 1 }));
    expect((await ask()).kind).toBe('tokens');
    await ask({ clientSecret: new Secret('cs'), scopes: ['a', 'b'] });
    const plain = { grant_type: 'refresh_token', refresh_token: 'rt-canary', client_id: 'me' };
    expect(forms.map((form) => Object.fromEntries(form))).toEqual([
      plain,
      { ...plain, client_secret: 'cs', scope: 'a b' },
    ]);
  });

  it('reads an answer that comes encoded, and no more of it than any other', async () => {
    const gzip = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const answers = [
      (response: ServerResponse) =>
        response.writeHead(200, gzip).end(gzipSync(JSON.stringify({ access_token: 'at', expires_in: 1 }))),
      (response: ServerResponse) =>
        response.writeHead(400, gzip).end(gzipSync(JSON.stringify({ error: 'invalid_grant' }))),
      (response: ServerResponse) =>
        response.writeHead(200, gzip).end(gzipSync(JSON.stringify({ access_token: 'a'.repeat(1_000_000) }))),
    ];
    const { ask } = await endpointThat((response) => answers.shift()?.(response));
    expect([(await ask()).kind, (await ask()).kind, (await ask()).kind]).toEqual(['tokens', 'invalid_grant', 'failed']);
  });

  it('follows no redirect, which would take the refresh token with it', async () => {
    const { ask, forms } = await endpointThat((response) => response.writeHead(307, { location: '/other' }).end());
    expect(await ask()).toMatchObject({ kind: 'failed', reason: 'the token endpoint refuses: HTTP 307' });
    expect(forms).toHaveLength(1);
  });

  it('ends when there is no answer in time, not even the rest of an answer', async () => {
    const silent = await endpointThat(() => undefined);
    expect(await silent.ask({}, 50)).toMatchObject({
      kind: 'failed',
      reason: 'the token endpoint fails: TimeoutError',
    });
    const slow = await endpointThat((response) => void response.writeHead(200).write('{'));
    expect(await slow.ask({}, 50)).toMatchObject({ kind: 'failed', reason: 'the token endpoint fails: TimeoutError' });
  });

  it('takes no answer without an end', async () => {
    const { ask } = await endpointThat((response) => {
      response.writeHead(200);
      const more = () => {
        if (!response.destroyed) response.write('x'.repeat(16_384), () => setImmediate(more));
      };
      more();
    });
    expect(await ask()).toMatchObject({
      kind: 'failed',
      reason: 'the token endpoint fails: UND_ERR_RES_EXCEEDED_MAX_SIZE',
    });
  });

  it('goes through the proxy, as requests to providers do, and not to the hosts that are reached without', async () => {
    const asked: (string | undefined)[] = [];
    const { ask, server, url } = await endpointThat((response, request) => {
      asked.push(request.url);
      sendJson(response, { access_token: 'at' });
    });
    server.on('connect', (request: IncomingMessage, socket: Duplex) => {
      asked.push(request.url);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    const through = (tokenUrl: string, noProxy = '') =>
      ask({ tokenUrl }, 5_000, { httpProxy: url, httpsProxy: url, noProxy });
    expect(await through('https://auth.invalid/token')).toMatchObject({ kind: 'failed' });
    expect(asked).toEqual(['auth.invalid:443']);
    await through('http://auth.invalid/token');
    expect(asked[1]).toContain('auth.invalid');
    expect(await through('http://auth.invalid/token', 'auth.invalid')).toMatchObject({ kind: 'failed' });
    expect(asked).toHaveLength(2);
  });

  it('says in one word why there is no answer, and shows no secret', async () => {
    const { ask } = await endpointThat((response) => response.destroy());
    const refused = await ask({ tokenUrl: 'http://127.0.0.1:1/token?canary' });
    const broken = await ask();
    expect(refused).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/fails: \w+$/) });
    expect(broken).toMatchObject({ kind: 'failed', mayHaveCounted: true });
    expect(inspect([refused, broken], { depth: null })).not.toContain('canary');
  });
});
