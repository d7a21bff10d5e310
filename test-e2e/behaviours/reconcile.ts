import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import type { ServicesTopology } from '../topologies/services.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

/** `gatewayctl usage reconcile`, on a running gateway. */
export function reconcileBehaviour(gateway: () => Topology): void {
  describe('usage reconcile', () => {
    it("compares today's counters, and treats usage in transit to the ledger as no difference", async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 1_000, tokensPerDay: 1_000_000 });
      for (let n = 0; n < 5; n++) await chat(gateway(), token.text, { model: 'gateway/claude' });
      const result = await gatewayctl(['usage', 'reconcile'], commandLineSettings(gateway()));
      expect(result.stdout).toMatch(/Ledger: 7 days compared, no differences\. Limiter: /);
      expect(result.stdout).not.toContain(token.tokenId);
      expect(result).toMatchObject({ exitCode: 0 });
    });
  });
}

/** With a database that the test can change: a difference is found and repaired. */
export function reconcileServicesBehaviour(gateway: () => ServicesTopology): void {
  describe('usage reconcile with services', () => {
    const reconcile = (...args: readonly string[]) =>
      gatewayctl(['usage', 'reconcile', ...args], commandLineSettings(gateway()));

    it('finds sums and counters that differ, and repairs them', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 1_000, tokensPerDay: 1_000_000 });
      await chat(gateway(), token.text, { model: 'gateway/claude' });
      await expect.poll(async () => (await usageOf(gateway(), token.text)).today.requests).toBe(1);
      const client = new Client({ connectionString: gateway().backends.postgresUrl });
      await client.connect();
      try {
        const spoil = 'update usage_daily set input_tokens = input_tokens + 100000 where token_id = $1';
        await client.query(spoil, [token.tokenId]);
      } finally {
        await client.end();
      }
      const found = await reconcile();
      expect(found.exitCode).toBe(1);
      expect(found.stdout).toContain(`token ${token.tokenId}, provider_b`);
      expect(found.stdout).toContain('repair with --repair');
      const mended = await reconcile('--repair');
      expect(mended.stdout).toMatch(
        new RegExp(`token ${token.tokenId}: the limiter counted \\d+ instead of \\d+ tokens`),
      );
      expect(mended.stdout).toMatch(/1 sum repaired\. Limiter: 1 counter corrected automatically\.\n$/);
      expect(mended.exitCode).toBe(0);
      const after = await reconcile();
      expect(after.stdout).toMatch(/no differences\. Limiter: no differences\.\n$/);
      expect(after.exitCode).toBe(0);
      const limit = (await usageOf(gateway(), token.text)).limits.tokensPerDay;
      expect(limit?.remaining).toBeGreaterThan(990_000);
    });
  });
}
