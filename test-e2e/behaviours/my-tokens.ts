import { toJsonString } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { AuditOutcome, AuditService, ListAuditResponseSchema } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { MyTokenService } from '@gateway/proto/admin/v1/my_token_service_pb.js';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { adminClient } from '../client/operator.ts';
import { signInPerson, signInToConsole } from '../client/person.ts';
import { issueToken } from '../client/tokens.ts';
import type { SignInTopology } from '../topologies/with-sign-in.ts';

/** A person without a role in the console: own usage, and tokens of their own. */
export function myTokensBehaviour(gateway: () => SignInTopology): void {
  describe('a person who signs in to the console without a role', () => {
    const console = async (name: string) => {
      const { session, client } = await signInToConsole(gateway(), name);
      return { session, client, own: client(MyTokenService), usage: client(UsageService) };
    };
    const statusOf = async (token: string) => (await chat(gateway(), token, { model: 'gateway/sterk' })).status;
    const idsOf = async ({ own }: Awaited<ReturnType<typeof console>>) =>
      (await own.listMyTokens({})).tokens.map(({ tokenId }) => tokenId);

    it('loses the tokens that the person issued when the provider removes the person, until the next sign-in', async () => {
      const kim = await console('kim');
      const { tokenText } = await kim.own.issueMyToken({ label: 'script' });
      expect(await statusOf(tokenText)).toBe(200);
      gateway().provider.removed.add('kim');
      await expect.poll(() => statusOf(tokenText), { timeout: roomMs(20_000) }).toBe(401);
      await expect(kim.own.listMyTokens({})).rejects.toMatchObject({ code: Code.Unauthenticated });
      gateway().provider.removed.delete('kim');
      await console('kim');
      await expect.poll(() => statusOf(tokenText), { timeout: roomMs(20_000) }).toBe(200);
    });

    it('issues a token, uses, rotates and revokes it, and each step is in the audit log', async () => {
      const dana = await console('dana');
      expect(dana.session?.holder).toMatchObject({ case: 'person', value: { email: 'dana@acme.test' } });
      const issued = await dana.own.issueMyToken({ label: 'laptop' });
      expect(issued.token).toMatchObject({ label: 'laptop', kind: TokenKind.PERSONAL });
      const tokenId = issued.token?.tokenId ?? '';
      expect(await statusOf(issued.tokenText)).toBe(200);
      expect(await dana.own.listMyTokens({})).toMatchObject({
        tokens: [{ tokenId }],
        rules: { mayIssue: true, maxDays: 7 },
        models: { chat: expect.stringContaining('gateway/') },
      });
      // The old text stays valid for the time that the person chose.
      const kept = await dana.own.rotateMyToken({ tokenId, keepOldSeconds: 3_600 });
      expect(kept.token).toMatchObject({ tokenId, expiresAtMs: issued.token?.expiresAtMs });
      for (const text of [issued.tokenText, kept.tokenText]) expect(await statusOf(text)).toBe(200);
      const last = await dana.own.rotateMyToken({ tokenId });
      for (const text of [issued.tokenText, kept.tokenText]) await expect.poll(() => statusOf(text)).toBe(401);
      expect(await statusOf(last.tokenText)).toBe(200);
      await dana.own.revokeMyToken({ tokenId });
      await expect.poll(() => statusOf(last.tokenText)).toBe(401);
      expect(await idsOf(dana)).toEqual([]);

      const audit = await adminClient(AuditService, gateway()).listAudit({});
      const steps = audit.entries.filter(({ subject }) => subject === tokenId);
      expect(steps.map(({ actor, action, outcome }) => [actor, action, AuditOutcome[outcome]].join(' '))).toEqual([
        'person dana@acme.test my_token.revoke DONE',
        'person dana@acme.test my_token.rotate DONE',
        'person dana@acme.test my_token.rotate DONE',
        'person dana@acme.test my_token.issue DONE',
      ]);
      const text = toJsonString(ListAuditResponseSchema, audit);
      for (const secret of [issued, kept, last]) expect(text).not.toContain(secret.tokenText);
    });

    it('reaches no token of another person, of a session or of an operator', async () => {
      const [dana, erin] = [await console('dana'), await console('hugo')];
      const { token, tokenText } = await dana.own.issueMyToken({ label: 'of dana' });
      const session = await signInPerson(gateway().baseUrl, gateway().provider, 'hugo');
      const people = adminClient(PersonService, gateway());
      const [hugo] = (await people.listPeople({ search: 'hugo@' })).people;
      const byOperator = await issueToken(gateway());
      const others = [token?.tokenId ?? '', hugo?.sessions[0]?.tokenId ?? '', byOperator.tokenId, 'x', ''];
      for (const tokenId of others) {
        await expect(erin.own.rotateMyToken({ tokenId })).rejects.toMatchObject({ code: Code.NotFound });
        await expect(erin.own.revokeMyToken({ tokenId })).rejects.toMatchObject({ code: Code.NotFound });
      }
      for (const text of [tokenText, session.access_token, byOperator.text]) expect(await statusOf(text)).toBe(200);
      expect(await idsOf(erin)).toEqual([]);
      await dana.own.revokeMyToken({ tokenId: token?.tokenId ?? '' });
    });

    it('gets no longer expiry than the gateway allows', async () => {
      const { own } = await console('dana');
      const inDays = (days: number) => Date.now() + days * 86_400_000;
      for (const refused of [
        { label: 'a', expiresAtMs: inDays(8) },
        { label: '' },
        { label: 'x'.repeat(65_537) },
        { label: 'a', expiresAtMs: inDays(-1) },
      ]) {
        await expect(own.issueMyToken(refused)).rejects.toMatchObject({ code: Code.InvalidArgument });
      }
      const { token } = await own.issueMyToken({ label: 'short', expiresAtMs: inDays(1) });
      await own.revokeMyToken({ tokenId: token?.tokenId ?? '' });
    });

    it('sees the usage of all own tokens, and of no other', async () => {
      const finn = await console('finn');
      expect((await finn.usage.getMyUsage({})).days).toEqual([]);
      const { access_token } = await signInPerson(gateway().baseUrl, gateway().provider, 'finn');
      const { tokenText } = await finn.own.issueMyToken({ label: 'cron' });
      const other = await issueToken(gateway());
      for (const token of [access_token, tokenText, other.text]) expect(await statusOf(token)).toBe(200);
      await expect.poll(async () => (await finn.usage.getMyUsage({})).today?.totals?.requests).toBe(2);
      expect((await finn.usage.getMyUsage({})).lastSevenDays?.totals?.requests).toBe(2);
    });

    it('may call nothing else, and operators have no such tokens', async () => {
      const { client } = await console('dana');
      await expect(client(TokenService).listTokens({})).rejects.toMatchObject({ code: Code.PermissionDenied });
      await expect(client(PersonService).listPeople({})).rejects.toMatchObject({ code: Code.PermissionDenied });
      const byOperator = adminClient(MyTokenService, gateway()).issueMyToken({ label: 'mine' });
      await expect(byOperator).rejects.toMatchObject({ code: Code.PermissionDenied });
    });

    it('loses tokens and the session when an operator disables the person', async () => {
      gateway().provider.groups.set('ivy', ['developers']);
      gateway().provider.claims.set('ivy', { email: 'ivy@acme.test', email_verified: true });
      const ivy = await console('ivy');
      const { tokenText } = await ivy.own.issueMyToken({ label: 'laptop' });
      expect(await statusOf(tokenText)).toBe(200);
      const people = adminClient(PersonService, gateway());
      const [person] = (await people.listPeople({ search: 'ivy@' })).people;
      await people.setPersonDisabled({ personId: person?.personId ?? '', disabled: true });
      await expect.poll(() => statusOf(tokenText)).toBe(401);
      const ended = { code: Code.Unauthenticated };
      await expect(ivy.own.issueMyToken({ label: 'again' })).rejects.toMatchObject(ended);
      await expect(ivy.client(SessionService).getSession({})).rejects.toMatchObject(ended);
      await expect(console('ivy')).rejects.toMatchObject({ code: Code.Unauthenticated });
    });
  });
}
