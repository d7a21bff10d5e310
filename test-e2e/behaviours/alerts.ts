import { readFile, writeFile } from 'node:fs/promises';
import { AlertService, AlertState } from '@gateway/proto/admin/v1/alert_service_pb.js';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AlertReceiver, startAlertReceiver } from '../client/alert-receiver.ts';
import { adminClient } from '../client/operator.ts';
import { messagesBody, relay } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

interface ConfiguredTopology extends Topology {
  readonly gatewayFile: string;
}

/** Warnings to a receiver that is added to gateway.yaml while the gateway runs. */
export function alertsBehaviour(gateway: () => ConfiguredTopology): void {
  describe('a receiver of warnings', () => {
    let receiver: AlertReceiver;
    let file: string;
    const secret = `whsec_${Buffer.alloc(32, 'receiver').toString('base64')}`;

    beforeAll(async () => {
      receiver = await startAlertReceiver(secret);
      file = await readFile(gateway().gatewayFile, 'utf8');
      const kinds = 'kinds: [tokens_per_day, group_tokens_per_day]';
      const line = `  - { name: e2e, format: json, url: "${receiver.url}", secret: "${secret}", ${kinds} }`;
      await writeFile(gateway().gatewayFile, `${file}alerts:\n${line}\n`);
    });
    afterAll(async () => {
      await writeFile(gateway().gatewayFile, file);
      await receiver[Symbol.asyncDispose]();
    });

    it('gets one signed message when a token reaches 80 % of its day, and one when it is used up', async () => {
      const { tokenId, text } = await issueToken(gateway(), { tokensPerDay: 100 });
      await use(text, 85);
      await expect.poll(() => messagesAbout(tokenId)).toMatchObject([{ status: 200, data: { threshold: 80 } }]);
      await use(text, 30);
      // The second message comes after rounds in which the first cause lasts.
      await expect.poll(() => messagesAbout(tokenId)).toHaveLength(2);
      const [first, second] = messagesAbout(tokenId);
      expect(first).toMatchObject({ isSigned: true, type: 'gateway.alert.tokens_per_day' });
      expect(first?.data.text).toMatch(/^The token e2e used 85 % of its tokens for today \(85 of 100\)\.$/);
      expect(second).toMatchObject({ isSigned: true, data: { threshold: 100 } });
      expect(second?.id).not.toBe(first?.id);
    });

    it('gets the same message later if it fails at first, and operators see what was answered', async () => {
      const { tokenId, text } = await issueToken(gateway(), { tokensPerDay: 100 });
      receiver.failOnce(tokenId);
      await use(text, 60);
      await expect.poll(() => messagesAbout(tokenId).map(({ status }) => status)).toEqual([503, 200]);
      const [failed, repeated] = messagesAbout(tokenId);
      expect(repeated).toMatchObject({ id: failed?.id, isSigned: true, data: failed?.data ?? {} });
      const alert = { receiver: 'e2e', state: AlertState.SENT, answer: '200', attempts: 2, alertId: failed?.id };
      await expect.poll(() => listed(tokenId)).toMatchObject([alert]);
      expect(JSON.stringify(await listed(tokenId))).not.toContain(receiver.url);
    });

    it('is warned of a group whose personal tokens reach its limit, and these are never refused', async () => {
      const groups = adminClient(GroupService, gateway());
      const limits = { tokensPerDay: 100 };
      const { group } = await groups.createGroup({ name: `e2e ${crypto.randomUUID()}`, limits });
      const groupId = group?.groupId ?? '';
      const tokens = adminClient(TokenService, gateway());
      const { tokenText } = await tokens.issueToken({ kind: TokenKind.PERSONAL, label: 'e2e', groupId });
      await use(tokenText, 120);
      const warning = { type: 'gateway.alert.group_tokens_per_day', data: { threshold: 100 } };
      await expect.poll(() => messagesAbout(groupId)).toMatchObject([warning]);
      await use(tokenText, 10);
    });

    const messagesAbout = (subject: string) => receiver.received.filter(({ data }) => data.subject === subject);

    const listed = async (subject: string) => {
      const { alerts } = await adminClient(AlertService, gateway()).listAlerts({ last: 1_000 });
      return alerts
        .filter((alert) => alert.subject === subject)
        .map(({ $typeName: _, atMs: _atMs, ...alert }) => ({
          ...alert,
          endedAtMs: String(alert.endedAtMs),
        }));
    };

    /** A request that uses so many tokens. */
    async function use(token: string, count: number): Promise<void> {
      const members = { input_tokens: count - 5, output_tokens: 5 };
      const fault = { kind: 'usage', members, atStart: members } as const;
      gateway().simulator.faults.add({ account: 'counting-a', times: 1, fault });
      const body = messagesBody('gateway/counting', 'Hello there', { max_tokens: 50 });
      expect((await relay(gateway(), token, { path: '/v1/messages', body })).status).toBe(200);
    }
  });
}
