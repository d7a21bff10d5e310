import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { relay } from '../client/relay.ts';
import { loggedRequestsOf } from '../client/request-log.ts';
import { issueToken } from '../client/tokens.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

const json = { 'content-type': 'application/json' };

/** The causes of failures and rejections that operators read. */
export function namedCausesBehaviour(gateway: () => Topology): void {
  describe('why a request was not answered', () => {
    const say = async (...command: readonly string[]) =>
      (await gatewayctl(command, commandLineSettings(gateway()))).stdout;

    /** Sends a request with a token of its own, and returns what operators read of it. */
    const readOf = async (send: (token: string) => Promise<unknown>) => {
      const { text, tokenId } = await issueToken(gateway(), { kind: 'personal' });
      await send(text);
      const [logged] = await loggedRequestsOf(gateway(), tokenId);
      return say('request', logged?.requestId ?? expect.fail('it is not logged'));
    };

    it('has the type, code and param of the provider’s 400, and never its message', async () => {
      const error = {
        type: 'invalid_request_error',
        code: 'unsupported_value',
        param: 'input[0].content',
        message: 'The text "my secret prompt" is not allowed.',
      };
      const fault = { kind: 'status', status: 400, headers: json, body: { error } } as const;
      gateway().simulator.faults.add({ account: 'naming-a', times: 1, fault });
      const text = await readOf((token) => chat(gateway(), token, { model: 'gateway/naming' }));
      expect(text).toContain(
        'The provider rejected the request (400): invalid_request_error, code unsupported_value, param input[0].content.',
      );
      expect(text).not.toContain('secret');
    });

    it('comes with the id that the provider gave the request, refused or answered', async () => {
      for (const status of [400, 200]) {
        const fault = { kind: 'status', status, headers: json, body: {} } as const;
        if (status >= 400) gateway().simulator.faults.add({ account: 'naming-a', times: 1, fault });
        const text = await readOf((token) => chat(gateway(), token, { model: 'gateway/naming' }));
        const [received] = gateway().simulator.requests({ account: 'naming-a', path: '/v1/responses', limit: 1 });
        expect(received?.status).toBe(status);
        expect(text.split('\n').find((line) => line.startsWith('provider request ids '))).toContain(
          received?.requestId,
        );
      }
    });

    it('has the model of a class that /v1/responses does not accept, and the reason', async () => {
      const text = await readOf((token) =>
        relay(gateway(), token, { path: '/v1/responses', body: { model: 'gateway/naming', input: [] } }),
      );
      expect(text).toMatch(/^model +gateway\/naming$/m);
      expect(text).toContain('Model classes are not accepted on /v1/responses.');
    });

    it('is the content type of a page that a proxy sends with 200', async () => {
      const fault = { kind: 'status', status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' } as const;
      const id = gateway().simulator.faults.add({ account: 'paging-a', fault });
      const text = await readOf((token) => chat(gateway(), token, { model: 'gateway/paging' }));
      gateway().simulator.faults.clear(id);
      const cause = 'answered 200 with text/html where text/event-stream was expected';
      expect(text).toContain(`The provider was unreachable, or the connection broke: ${cause}.`);
      expect(await say('pool', 'status', 'paging')).toContain(`1 error, `);
      expect(await say('pool', 'status', 'paging')).toContain(cause);
    });

    it('is the missing credit of an account, which pauses and is named with what to do', async () => {
      const body = { error: { type: 'insufficient_quota', code: 'insufficient_quota', message: 'exceeded' } };
      const fault = { kind: 'status', status: 429, headers: json, body } as const;
      const id = gateway().simulator.faults.add({ account: 'penniless-a', fault });
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      for (let n = 0; n < 2; n++) {
        expect((await chat(gateway(), token, { model: 'gateway/penniless' })).status).toBe(503);
      }
      gateway().simulator.faults.clear(id);
      expect(gateway().simulator.requests({ account: 'penniless-a', path: '/v1/responses' })).toHaveLength(1);
      const cause = '429: the provider says that the account has no credit left';
      expect(await say('pool', 'status', 'penniless')).toContain(cause);
      const attention = `The account penniless/a is failing: ${cause}. Add credit at the provider`;
      await expect.poll(() => say('doctor'), { timeout: roomMs(20_000) }).toContain(attention);
    });
  });
}
