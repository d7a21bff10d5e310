import { createTokenText } from '@gateway/tokens';
import { beforeAll, describe, expect, it } from 'vitest';
import { longContent } from '../client/long-content.ts';
import { head, RawConnection } from '../client/raw-http.ts';
import { issueToken, revokeToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const bearer = { own: 'authorization', other: 'x-api-key' } as const;
const apiKey = { own: 'x-api-key', other: 'authorization' } as const;
const endpoints = [
  { path: '/v1/chat/completions', method: 'POST', headers: bearer },
  { path: '/v1/messages', method: 'POST', headers: apiKey },
  { path: '/v1/messages/count_tokens', method: 'POST', headers: apiKey },
  { path: '/v1/responses', method: 'POST', headers: bearer },
  { path: '/v1/models', method: 'GET', headers: bearer },
  { path: '/v1/usage', method: 'GET', headers: bearer },
] as const;

/**
 * The header that identifies the caller if there are two. Clients send a provider's key beside our
 * token. @see spec "Authentication"
 */
export function authHeadersBehaviour(gateway: () => Topology): void {
  describe.each(endpoints)('the caller of $method $path', ({ path, method, headers: { own, other } }) => {
    const texts = { ours: '', revoked: '', unknown: createTokenText('service'), foreign: 'sk-ant-api03-a-key' };
    type Text = keyof typeof texts;
    beforeAll(async () => {
      texts.ours = (await issueToken(gateway(), { kind: 'personal' })).text;
      const revoked = await issueToken(gateway(), { kind: 'personal' });
      texts.revoked = revoked.text;
      await revokeToken(gateway(), revoked.tokenId);
    });

    const headerValue = (header: 'authorization' | 'x-api-key', text: Text) =>
      header === 'authorization' ? `Bearer ${texts[text]}` : texts[text];
    const statusWith = async (ownTexts: readonly Text[], otherTexts: readonly Text[]) => {
      const body = method === 'POST' ? JSON.stringify(longContent(path, 'hello')) : '';
      using connection = new RawConnection(gateway());
      const sent = {
        host: 'gateway',
        [own]: ownTexts.map((text) => headerValue(own, text)),
        [other]: otherTexts.map((text) => headerValue(other, text)),
        'content-length': String(body.length),
      };
      return (await connection.send(head(`${method} ${path}`, sent) + body).answer()).status;
    };

    it.each<[status: number, own: readonly Text[], other: readonly Text[]]>([
      [200, ['ours'], []],
      [200, [], ['ours']],
      [200, ['ours'], ['foreign']],
      [200, ['foreign'], ['ours']],
      [200, ['ours'], ['unknown']],
      [401, ['foreign'], ['foreign']],
      [401, ['unknown'], ['ours']],
      [401, ['revoked'], ['ours']],
      [401, [], ['revoked']],
      [401, ['ours', 'ours'], []],
      [401, ['ours'], ['foreign', 'foreign']],
      [401, [], []],
    ])(`answers %i with %j in ${own} and %j in ${other}`, async (status, ownTexts, otherTexts) => {
      expect(await statusWith(ownTexts, otherTexts)).toBe(status);
    });
  });
  describe('hundreds of unknown tokens', () => {
    it('are refused, and affect neither a token in use nor a new one', async () => {
      const inUse = await issueToken(gateway(), { kind: 'personal' });
      const statusOf = async (text: string) => {
        using connection = new RawConnection(gateway());
        const sent = { host: 'gateway', authorization: `Bearer ${text}` };
        return (await connection.send(head('GET /v1/models', sent)).answer()).status;
      };
      expect(await statusOf(inUse.text)).toBe(200);
      const madeUp = Array.from({ length: 400 }, () => statusOf(createTokenText('service')));
      const isNew = await issueToken(gateway(), { kind: 'personal' });
      expect(await Promise.all([inUse, isNew, inUse].map(({ text }) => statusOf(text)))).toEqual([200, 200, 200]);
      expect(new Set(await Promise.all(madeUp))).toEqual(new Set([401]));
    });
  });
}
