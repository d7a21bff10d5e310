import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { type OAuthCredential, Secret } from '@gateway/config';
import { describe, expect, it, onTestFinished } from 'vitest';
import { requestTokens } from './token-endpoint.ts';

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
  // It listens on TCP.
  const { port } = server.address() as AddressInfo;
  const ask = (credential: Partial<OAuthCredential> = {}, timeoutMs = 5_000) =>
    requestTokens({
      credential: { ...sample, tokenUrl: `http://127.0.0.1:${port}/token`, ...credential },
      refreshToken: new Secret('rt-canary'),
      timeoutMs,
      nowMs: () => 0,
    });
  return { ask, forms };
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

  it('follows no redirect, which would take the refresh token with it', async () => {
    const { ask, forms } = await endpointThat((response) => response.writeHead(307, { location: '/other' }).end());
    expect(await ask()).toEqual({ kind: 'refused', reason: 'HTTP 307' });
    expect(forms).toHaveLength(1);
  });

  it('ends when there is no answer in time, not even the rest of an answer', async () => {
    const silent = await endpointThat(() => undefined);
    expect(await silent.ask({}, 50)).toMatchObject({ kind: 'unavailable', reason: 'TimeoutError' });
    const slow = await endpointThat((response) => void response.writeHead(200).write('{'));
    expect(await slow.ask({}, 50)).toMatchObject({ kind: 'unavailable', reason: 'TimeoutError' });
  });

  it('takes no answer without an end', async () => {
    const { ask } = await endpointThat((response) => {
      response.writeHead(200);
      const more = () => {
        if (!response.destroyed) response.write('x'.repeat(16_384), () => setImmediate(more));
      };
      more();
    });
    expect(await ask()).toMatchObject({ kind: 'unavailable', reason: 'RangeError' });
  });

  it('says in one word why there is no answer, and shows no secret', async () => {
    const { ask } = await endpointThat((response) => response.destroy());
    const refused = await ask({ tokenUrl: 'http://127.0.0.1:1/token?canary' });
    const broken = await ask();
    expect(refused).toMatchObject({ kind: 'unavailable', reason: expect.stringMatching(/^\w+$/) });
    expect(broken).toMatchObject({ kind: 'unavailable', mayHaveCounted: true });
    expect(inspect([refused, broken], { depth: null })).not.toContain('canary');
  });
});
