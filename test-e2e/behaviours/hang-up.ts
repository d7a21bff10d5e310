import { roomMs, roomSeconds } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

const cases = [
  { model: 'gateway/sterk', account: 'responses' },
  { model: 'gateway/claude', account: 'messages' },
] as const;

/** Clients that hang up before the end. */
export function hangUpBehaviour(gateway: () => Topology): void {
  describe.each(cases)('a client of $model that hangs up', ({ model, account }) => {
    const lastRequestTo = (marker: string) =>
      gateway()
        .simulator.requests()
        .filter((request) => request.account?.startsWith(`${account}-`) && Buffer.from(request.body).includes(marker))
        .at(-1);

    const start = async (token: string, content: string, stream: boolean) => {
      const controller = new AbortController();
      const response = fetch(`${gateway().baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
        signal: controller.signal,
      });
      response.catch(() => undefined);
      return { controller, response };
    };

    it('mid-stream has its provider cancelled within a second and its usage recorded', async () => {
      const token = await issueToken(gateway(), { tokensPerDay: 1_000_000 });
      const fault = { kind: 'delay', betweenEventsMs: 30 } as const;
      for (const letter of ['a', 'b']) {
        gateway().simulator.faults.add({ account: `${account}-${letter}`, forSeconds: roomSeconds(10), fault });
      }
      const marker = `leaving-${crypto.randomUUID()}`;
      const { controller, response } = await start(token.text, `${marker} #long 2000`, true);
      const reader = (await response).body?.getReader();
      for (let n = 0; n < 4; n++) await reader?.read();
      const leftAtMs = Date.now();
      controller.abort();
      await expect.poll(() => lastRequestTo(marker)?.outcome, { interval: 20 }).toBe('cancelled');
      expect((lastRequestTo(marker)?.endedAtMs ?? Number.POSITIVE_INFINITY) - leftAtMs).toBeLessThan(roomMs(1_000));
      gateway().simulator.faults.clear();

      await expect.poll(async () => (await usageOf(gateway(), token.text)).today.requests).toBe(1);
      const { today, limits } = await usageOf(gateway(), token.text);
      expect(today.inputTokens).toBeGreaterThan(0);
      expect(today.outputTokens).toBeGreaterThan(0);
      expect(limits.tokensPerDay?.remaining).toBe(1_000_000 - today.totalTokens);
    });

    it('before the first byte has its provider cancelled as well', async () => {
      const token = await issueToken(gateway(), { kind: 'personal' });
      for (const letter of ['a', 'b']) {
        gateway().simulator.faults.add({
          account: `${account}-${letter}`,
          forSeconds: roomSeconds(10),
          fault: { kind: 'delay', beforeHeadersMs: 60_000 },
        });
      }
      const marker = `early-${crypto.randomUUID()}`;
      const { controller } = await start(token.text, marker, false);
      await expect.poll(() => lastRequestTo(marker)?.outcome, { interval: 20 }).toBe('running');
      const leftAtMs = Date.now();
      controller.abort();
      await expect.poll(() => lastRequestTo(marker)?.outcome, { interval: 20 }).toBe('cancelled');
      expect((lastRequestTo(marker)?.endedAtMs ?? Number.POSITIVE_INFINITY) - leftAtMs).toBeLessThan(roomMs(1_000));
      gateway().simulator.faults.clear();
    });
  });
}
