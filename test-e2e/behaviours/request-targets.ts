import { beforeAll, describe, expect, it } from 'vitest';
import { head, RawConnection } from '../client/raw-http.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

/**
 * Clients that treat the gateway as a proxy send a whole URL as the target.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2
 */
export function requestTargetsBehaviour(gateway: () => Topology): void {
  describe('a request whose target is a whole URL', () => {
    let authorization = '';
    beforeAll(async () => {
      authorization = `Bearer ${(await issueToken(gateway(), { kind: 'personal' })).text}`;
    });

    const ask = async (text: string) => {
      using connection = new RawConnection(gateway());
      return await connection.send(text).answer();
    };

    it.each([
      ['http://gateway/v1/models', 200],
      ['HTTPS://elsewhere.example:8443/v1/models?limit=3', 200],
      ['http://gateway/v1/messages', 405],
      ['http://gateway', 404],
      ['http://gateway?/v1/models', 404],
      ['http://gateway//v1/models', 404],
      ['http://gateway/v1/../v1/models', 404],
      ['http://gateway/http://gateway/v1/models', 404],
      ['ftp://gateway/v1/models', 400],
      ['http://user:password@gateway/v1/models', 400],
      ['http://gateway/v1/models#all', 400],
    ])('is for its path: GET %s is answered with %i', async (target, status) => {
      expect((await ask(head(`GET ${target}`, { host: 'gateway', authorization }))).status).toBe(status);
    });

    it('needs a token as any other', async () => {
      expect((await ask(head('GET http://gateway/v1/models', { host: 'gateway' }))).status).toBe(401);
    });

    it('is answered by a model', async () => {
      const body = JSON.stringify({ model: 'gateway/snel', messages: [{ role: 'user', content: 'hello' }] });
      const headers = { host: 'gateway', authorization, 'content-length': String(body.length) };
      const answer = await ask(head('POST http://gateway/v1/chat/completions', headers) + body);
      expect(answer.json).toMatchObject({ object: 'chat.completion' });
    });
  });
}
