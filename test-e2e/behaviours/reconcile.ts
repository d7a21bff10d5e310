import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import type { ServicesTopology } from '../topologies/services.ts';
import type { Topology } from '../topologies/topology.ts';

/** `gatewayctl usage reconcile`, by the addresses of a running gateway. */
export function reconcileBehaviour(gateway: () => Topology): void {
  describe('usage reconcile', () => {
    it("compares today's counters, and takes usage on its way to the ledger for no difference", async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 1_000, tokensPerDay: 1_000_000 });
      for (let n = 0; n < 5; n++) await chat(gateway(), token.text, { model: 'gateway/claude' });
      const { adminUrl, limiterAdminUrl, ledgerAdminUrl } = gateway();
      const others = ['--limiter', limiterAdminUrl, '--identity', adminUrl];
      const result = await gatewayctl(['usage', 'reconcile', ...others], { GATEWAY_ADMIN_URL: ledgerAdminUrl });
      expect(result.stdout).toMatch(
        /Ledger: 7 days compared, no differences\. Limiter: [1-9]\d* counters of \S+ compared, /,
      );
      expect(result.stdout).not.toContain(token.tokenId);
      expect(result).toMatchObject({ exitCode: 0 });
      // Both days, or today alone when yesterday is over for the limiter.
      expect(result.stdout).toMatch(
        /counters of \S+ compared, (\d+ counters of \S+ compared|\S+ is no longer counted)/,
      );
    });
  });
}

/** With services of their own: what can not be reached is said, and a difference is found and mended. */
export function reconcileServicesBehaviour(gateway: () => ServicesTopology): void {
  describe('usage reconcile with services', () => {
    const reconcile = (args: readonly string[], env: Readonly<Record<string, string>>) =>
      gatewayctl(['usage', 'reconcile', ...args], env);

    it('fails and names the flag when an address is missing', async () => {
      const { adminUrls } = gateway();
      const GATEWAY_ADMIN_URL = adminUrls['usage-ingest'];
      const withoutLimiter = await reconcile(['--identity', adminUrls.identity], { GATEWAY_ADMIN_URL });
      expect(withoutLimiter).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('--limiter') });
      const withoutIdentity = await reconcile(['--limiter', adminUrls.limiter], { GATEWAY_ADMIN_URL });
      expect(withoutIdentity).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('--identity') });
    });

    it('finds sums and counters that differ, and mends them', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 1_000, tokensPerDay: 1_000_000 });
      await chat(gateway(), token.text, { model: 'gateway/claude' });
      await expect.poll(async () => (await usageOf(gateway(), token.text)).today.requests, { timeout: 20_000 }).toBe(1);
      const { backends, adminUrls } = gateway();
      const client = new Client({ connectionString: backends.postgresUrl });
      await client.connect();
      try {
        const spoil = 'update usage_daily set input_tokens = input_tokens + 100000 where token_id = $1';
        await client.query(spoil, [token.tokenId]);
      } finally {
        await client.end();
      }
      // As docs/operations.md has it: by the database, and the limiter's address. Port 1: no gateway runs there.
      const env = { DATABASE_URL: backends.postgresUrl, ADMIN_PORT: '1' };
      const found = await reconcile(['--limiter', adminUrls.limiter], env);
      expect(found.exitCode).toBe(1);
      expect(found.stdout).toContain(`token ${token.tokenId}, provider_b`);
      expect(found.stdout).toContain('mend them with --repair');
      const mended = await reconcile(['--repair', '--limiter', adminUrls.limiter], env);
      expect(mended.stdout).toMatch(
        new RegExp(`token ${token.tokenId}: the limiter had counted \\d+ tokens instead of`),
      );
      expect(mended.stdout).toMatch(/1 sums mended\. Limiter: .* 1 mended by itself\.\n$/);
      expect(mended.exitCode).toBe(0);
      const after = await reconcile(['--limiter', adminUrls.limiter], env);
      expect(after.stdout).toMatch(/no differences\. Limiter: .*no differences\.\n$/);
      expect(after.exitCode).toBe(0);
      const limit = (await usageOf(gateway(), token.text)).limits.tokensPerDay;
      expect(limit?.remaining).toBeGreaterThan(990_000);
    });
  });
}
