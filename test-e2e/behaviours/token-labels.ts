import { Code } from '@connectrpc/connect';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

/** Labels that operators choose. @see docs/operate/running.md "Three ways to run it" */
export function tokenLabelsBehaviour(gateway: () => Topology): void {
  describe('a token label', () => {
    const issue = (label: string) =>
      adminClient(TokenService, gateway()).issueToken(
        { kind: TokenKind.SERVICE, label },
        { timeoutMs: roomMs(10_000) },
      );

    it('of 100 characters of any size is shown to its holder, without the spaces around it', async () => {
      const label = '🦊'.repeat(100);
      const { tokenText } = await issue(` ${label} `);
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
        await expect(issue(label), JSON.stringify(label)).rejects.toMatchObject({
          code: Code.InvalidArgument,
          rawMessage: expect.stringMatching(/^label: /),
        });
      }
    });
  });
}
