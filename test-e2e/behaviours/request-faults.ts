import { beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { relay, responsesBody } from '../client/relay.ts';
import { ask, isWhole, providerPathOf } from '../client/roads.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { askedWrongly, closingAccount, roads } from '../topologies/failing-accounts.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

/**
 * Failures that are no fault of an account: a request that no provider can serve, an encoded error,
 * an idle connection that closes.
 */
export function requestFaultsBehaviour(gateway: () => Topology): void {
  let token = '';
  beforeAll(async () => {
    token = (await issueToken(gateway(), { kind: 'personal' })).text;
  });
  const requestsTo = (credentials: readonly string[]) =>
    credentials.flatMap((account) => gateway().simulator.requests({ account, path: '/v1/responses' }));

  describe('a request for an object that its provider does not have', () => {
    it('gets the provider’s answer unchanged, once, and pauses nothing for others', async () => {
      const { model, credentials } = askedWrongly('responses', 'wrong');
      const input = [...responsesBody(model, 'hello').input, { type: 'item_reference', id: 'fc_1' }];
      for (let round = 0; round < 8; round++) {
        const { status, json } = await relay(gateway(), token, {
          path: '/v1/responses',
          body: { model, input, store: false },
        });
        expect([status, json]).toMatchObject([
          404,
          { error: { message: expect.stringContaining("Item with id 'fc_1'") } },
        ]);
      }
      expect(requestsTo(credentials)).toHaveLength(8);
      expect((await ask(gateway(), token, { road: 'responses', model })).status).toBe(200);
      expect((await chat(gateway(), token, { model })).status).toBe(200);
      const accounts = await gateway().operator.accountsOf('responses');
      const asked = accounts.filter(({ id }) => credentials.includes(id.replace('/', '-')));
      expect(asked.map(({ cooldowns }) => cooldowns)).toEqual([[], []]);
    });
  });

  describe('an error that its provider encodes', () => {
    it.each(['gzip', 'deflate', 'br', 'zstd'] as const)('is relayed so that it can be read: %s', async (encoding) => {
      const { model, credentials } = askedWrongly('responses', 'encoded');
      const body = {
        error: { message: `Not like this: ${'x'.repeat(1_000)}`, type: 'invalid_request_error', code: null },
      };
      const ids = credentials.map((account) =>
        gateway().simulator.faults.add({ account, fault: { kind: 'status', status: 422, body, encoding } }),
      );
      const { status, headers, json } = await ask(gateway(), token, { road: 'responses', model });
      for (const id of ids) gateway().simulator.faults.clear(id);
      expect([status, headers.get('content-encoding'), json]).toEqual([422, null, body]);
    });

    it.each(['responses', 'chat-responses'] as const)('is understood: a limit with its reset (%s)', async (road) => {
      const { model, credentials } = askedWrongly(road, 'limited-encoded');
      const body = { error: { type: 'usage_limit_reached', resets_in_seconds: 300 } };
      for (const account of credentials) {
        gateway().simulator.faults.add({ account, fault: { kind: 'status', status: 429, body, encoding: 'gzip' } });
      }
      const { status, headers } = await ask(gateway(), token, { road, model });
      expect(status).toBe(429);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(200);
    });

    it.each(['messages', 'chat-messages'] as const)('is understood: credit that is used up (%s)', async (road) => {
      const { model, credentials } = askedWrongly(road, 'limited-encoded');
      const [account] = credentials;
      const error = { type: 'invalid_request_error', message: 'Your credit balance is too low.' };
      const fault = { kind: 'status', status: 400, body: { type: 'error', error }, encoding: 'br' } as const;
      gateway().simulator.faults.add({ account, fault });
      for (let round = 0; round < 10; round++) {
        expect((await ask(gateway(), token, { road, model })).status).toBe(200);
      }
    });
  });

  describe('gatewayctl pool status', () => {
    it('says when a pool is paused, why and until when', async () => {
      const { faults } = gateway().simulator;
      const fault = { preset: 'rate_limited_retry_after', resetAfterSeconds: 300 } as const;
      for (const letter of ['a', 'b']) faults.add({ account: `paused-${letter}`, fault });
      expect((await chat(gateway(), token, { model: 'gateway/paused' })).status).toBe(429);
      const env = commandLineSettings(gateway());
      const { stdout } = await gatewayctl(['pool', 'status', 'paused'], env);
      expect(stdout).toMatch(
        /paused until [\d-]{10} [\d:]{8} UTC: no account is available \(rate limited by the provider\)/,
      );
      const { stdout: others } = await gatewayctl(['pool', 'status', 'backup'], env);
      expect(others).not.toContain('paused');
    });
  });

  describe('a provider that closes connections which it has answered on', () => {
    it.each(roads)('serves every request, and is billed for each once (%s)', async (road) => {
      const { model, credentials } = closingAccount(road);
      const [account = ''] = credentials;
      const { simulator } = gateway();
      const id = simulator.faults.add({ account, fault: { kind: 'close_reused' } });
      const service = await issueToken(gateway(), { tokensPerDay: 10_000_000 });
      for (let round = 0; round < 6; round++) {
        expect(isWhole(await ask(gateway(), service.text, { road, model }))).toBe(true);
      }
      simulator.faults.clear(id);
      const seen = simulator.requests({ account, path: providerPathOf(road) });
      expect(seen.filter(({ outcome }) => outcome === 'completed')).toHaveLength(6);
      expect(seen.filter(({ faults }) => faults.includes('close_reused')).length).toBeGreaterThan(0);
      expect((await usageOf(gateway(), service.text)).today.requests).toBe(6);
    });
  });
}
