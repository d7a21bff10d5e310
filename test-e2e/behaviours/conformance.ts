import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { issueToken } from '../client/tokens.ts';
import { runConformance } from '../topologies/gateway-process.ts';
import type { Topology } from '../topologies/topology.ts';

const report = z.object({
  checks: z.array(
    z.object({
      name: z.string(),
      level: z.string(),
      outcome: z.enum(['kept', 'broken', 'skipped']),
      found: z.string().optional(),
      why: z.string().optional(),
    }),
  ),
});

/** A low limit, but enough for every check that reads the limit's headers. */
const limit = 20;

/** Every rule of `gateway-conformance`, with the double behind the gateway. */
export const conformanceBehaviour = (providerPort: number) => (gateway: () => Topology) => {
  const check = async (...args: readonly string[]) => {
    const { baseUrl } = gateway();
    const provider = ['--provider-port', String(providerPort), '--second-account'];
    const token = await issueToken(gateway(), { kind: 'personal' });
    const limited = await issueToken(gateway(), { requestsPerMinute: limit });
    const { exitCode, stdout, stderr } = await runConformance(
      ['--url', baseUrl, ...provider, '--limited-rpm', String(limit), '-o', 'json', ...args],
      { CONFORMANCE_TOKEN: token.text, CONFORMANCE_LIMITED_TOKEN: limited.text },
    );
    if (exitCode === 2 || stdout === '') throw new Error(stderr);
    const { checks } = report.parse(JSON.parse(stdout));
    return {
      exitCode,
      checks,
      broken: checks.flatMap(({ name, outcome, found }) => (outcome === 'broken' ? [{ name, found }] : [])),
      skipped: checks.filter(({ outcome }) => outcome === 'skipped'),
    };
  };

  describe('conformance', () => {
    it('is complete: every rule of every level is kept', async () => {
      const { exitCode, checks, broken, skipped } = await check();
      expect(broken).toEqual([]);
      expect(exitCode).toBe(0);
      expect(new Set(checks.map(({ level }) => level))).toEqual(new Set(['formats', 'operations', 'specification']));
      expect(checks.length - skipped.length).toBeGreaterThan(250);
      // By the specification Responses only stream, and a model of their pool has no stop
      // sequences.
      expect(new Set(skipped.map(({ why }) => why))).toEqual(
        new Set(["the provider's format has no stop sequences", 'the gateway answers Responses as streams only']),
      );
    });

    it('holds for chat completions over the Messages format, too', async () => {
      const { broken } = await check('--endpoint', 'chat', '--level', 'formats', '--model', 'chat=gateway/claude');
      expect(broken).toEqual([]);
    });
  });
};
