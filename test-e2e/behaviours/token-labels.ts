import { describe, expect, it } from 'vitest';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

/** Labels, as operators' HTTP clients give them. @see docs/operations.md "Three ways to run it" */
export function tokenLabelsBehaviour(gateway: () => Topology): void {
  describe('a token label', () => {
    const issue = (label: string) =>
      fetch(`${gateway().adminUrl}/gateway.identity.v1.IdentityService/Issue`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ kind: 'TOKEN_KIND_SERVICE', label }),
        signal: AbortSignal.timeout(10_000),
      });

    it('of 100 characters, whatever their size, is what its holder sees, without the spaces around it', async () => {
      const label = '🦊'.repeat(100);
      const { tokenText } = (await (await issue(` ${label} `)).json()) as { readonly tokenText: string };
      expect((await usageOf(gateway(), tokenText)).token.label).toBe(label);
    });

    it('is refused when it is empty, too long, or holds characters that are not seen', async () => {
      for (const label of [
        '',
        '   ',
        'x'.repeat(101),
        'a\nb',
        'a\u0085b',
        'a\u200bb',
        'a\u202eb',
        'a\u2028b',
        'a\u2029b',
      ]) {
        const response = await issue(label);
        expect([response.status, await response.json()]).toEqual([
          400,
          expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining('label must ') }),
        ]);
      }
    });
  });
}
