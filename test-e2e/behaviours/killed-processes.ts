import { beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { issueToken, type TestToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { ServicesTopology } from '../topologies/services.ts';

/** Kills every process in turn, restarts it, and checks that the gateway works. */
export function killedProcessesBehaviour(gateway: () => ServicesTopology): void {
  describe('when a process is killed and started again', () => {
    let token: TestToken;
    beforeAll(async () => {
      token = await issueToken(gateway(), { requestsPerMinute: 100_000, tokensPerDay: 1_000_000_000 });
    });

    const answers = async (model: string) => (await chat(gateway(), token.text, { model })).status;

    it.each([
      'limiter',
      'pool-broker',
      'responses-adapter',
      'messages-adapter',
      'identity',
      'usage-ingest',
      'usage-query',
      'edge-router',
    ] as const)('%s: the gateway is whole again', async (name) => {
      await expect.poll(() => answers('gateway/claude')).toBe(200);
      const before = (await usageOf(gateway(), token.text)).today.requests;
      const service = gateway().services[name];
      await service.kill();
      if (name !== 'edge-router') expect([200, 500, 503]).toContain(await answers('gateway/claude'));
      await service.restart();
      await expect.poll(() => answers('gateway/claude')).toBe(200);
      await expect.poll(() => answers('gateway/sterk')).toBe(200);
      await expect
        .poll(async () =>
          usageOf(gateway(), token.text).then(
            ({ today }) => today.requests,
            () => 0,
          ),
        )
        .toBeGreaterThanOrEqual(before + 2);
    });

    it('limiter: requests continue meanwhile, with the limits that the edge knows', async () => {
      const limiter = gateway().services.limiter;
      await limiter.kill();
      const { status, headers } = await chat(gateway(), token.text, { model: 'gateway/claude' });
      expect(status).toBe(200);
      expect(headers.get('x-ratelimit-limit-requests')).toBe('100000');
      await limiter.restart();
    });

    it('identity: a known token is still let in meanwhile', async () => {
      expect(await answers('gateway/claude')).toBe(200);
      const identity = gateway().services.identity;
      await identity.kill();
      expect(await answers('gateway/claude')).toBe(200);
      await identity.restart();
    });

    it('an adapter: a class with a candidate of the other format is answered meanwhile', async () => {
      const adapter = gateway().services['responses-adapter'];
      await adapter.kill();
      const { status, headers } = await chat(gateway(), token.text, { model: 'gateway/sterk' });
      expect(status).toBe(200);
      expect(headers.get('x-gateway-provider')).toBe('provider_b');
      await adapter.restart();
    });

    it('usage-ingest: no request made meanwhile is lost or counted twice', async () => {
      const fresh = await issueToken(gateway());
      const ingest = gateway().services['usage-ingest'];
      await ingest.kill();
      for (let n = 0; n < 5; n++)
        expect((await chat(gateway(), fresh.text, { model: 'gateway/claude' })).status).toBe(200);
      await ingest.restart();
      await expect.poll(async () => (await usageOf(gateway(), fresh.text)).today.requests).toBe(5);
    });

    it('edge-router: a stream that was cut is recorded by the next edge, as an estimate', async () => {
      const fresh = await issueToken(gateway());
      const { simulator } = gateway();
      for (const letter of ['a', 'b']) {
        simulator.faults.add({
          account: `messages-${letter}`,
          forSeconds: 20,
          fault: { kind: 'delay', betweenEventsMs: 50 },
        });
      }
      const cut = fetch(`${gateway().baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${fresh.text}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'gateway/claude',
          stream: true,
          messages: [{ role: 'user', content: '#long 2000' }],
        }),
      });
      await (await cut).body?.getReader().read();
      const edge = gateway().services['edge-router'];
      await edge.kill();
      simulator.faults.clear();
      await edge.restart();
      await expect
        .poll(async () =>
          usageOf(gateway(), fresh.text).then(
            ({ today }) => today.requests,
            () => -1,
          ),
        )
        .toBe(1);
      expect((await usageOf(gateway(), fresh.text)).today.inputTokens).toBeGreaterThan(0);
    });
  });
}
