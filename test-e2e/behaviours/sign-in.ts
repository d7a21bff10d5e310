import { hash } from 'node:crypto';
import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { roomMs } from '@gateway/testkit/room';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { adminClient } from '../client/operator.ts';
import {
  beginSignIn,
  confirmCode,
  type PersonTokens,
  pollSignIn,
  postForm,
  refresh,
  signInPerson,
  tokensIn,
} from '../client/person.ts';
import { RawConnection } from '../client/raw-http.ts';
import { managedGroup } from '../topologies/gateway-file.ts';
import { narrowGroup, type SignInTopology } from '../topologies/with-sign-in.ts';

/** A person who signs in from a client, until the client is signed out. */
export function signInBehaviour(gateway: () => SignInTopology): void {
  describe('a person who signs in from a client', () => {
    const signIn = (name: string) => signInPerson(gateway().baseUrl, gateway().provider, name);
    const answerOf = async (token: string) => {
      const response = await fetch(`${gateway().baseUrl}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'claude-sonnet-5', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }),
        signal: AbortSignal.timeout(roomMs(10_000)),
      });
      await response.arrayBuffer();
      return response.status;
    };
    const settingsOf = async (headers: Readonly<Record<string, string>>) =>
      (await fetch(`${gateway().baseUrl}/managed/settings`, { headers })).status;
    const refreshed = async ({ refresh_token }: PersonTokens) =>
      tokensIn((await refresh(gateway().baseUrl, refresh_token)).body);

    /** Why lookups have ended sessions of a person. */
    const lookupsOf = async (name: string) => {
      const { entries } = await adminClient(AuditService, gateway()).listAudit({});
      const ofPerson = entries.filter(({ action, subject }) => action === 'person.lookup' && subject.startsWith(name));
      return ofPerson.map(({ after }) => JSON.parse(after).reason);
    };
    let managedGroupId = '';
    beforeAll(async () => {
      const { group } = await adminClient(GroupService, gateway()).createGroup({ name: managedGroup });
      managedGroupId = group?.groupId ?? '';
    });

    it('finds every endpoint at the address that the client uses', async () => {
      const response = await fetch(`${gateway().baseUrl}/.well-known/oauth-authorization-server`);
      expect(await response.json()).toMatchObject({
        issuer: gateway().baseUrl,
        device_authorization_endpoint: `${gateway().baseUrl}/oauth/device_authorization`,
        token_endpoint: `${gateway().baseUrl}/oauth/token`,
        revocation_endpoint: `${gateway().baseUrl}/oauth/revoke`,
        grant_types_supported: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      });
    });

    it('gets an answer of a model, with a token of an hour and the e-mail address', async () => {
      const grant = await beginSignIn(gateway().baseUrl);
      expect(grant).toMatchObject({ verification_uri: `${gateway().adminUrl}/device`, expires_in: 600, interval: 5 });
      expect((await pollSignIn(gateway().baseUrl, grant.device_code)).body).toMatchObject({
        error: 'authorization_pending',
      });
      const page = await confirmCode(grant.verification_uri, grant.user_code, gateway().provider, 'dana');
      expect([page.status, page.text]).toEqual([200, expect.stringContaining('You are signed in')]);
      const { status, headers, body } = await pollSignIn(gateway().baseUrl, grant.device_code);
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
      const tokens = tokensIn(body);
      expect(tokens.email).toBe('dana@acme.test');
      expect(tokens.expires_in).toBeLessThanOrEqual(3_600);
      expect(tokens.expires_in).toBeGreaterThan(3_000);
      expect(await answerOf(tokens.access_token)).toBe(200);
      // The code is used up.
      const again = await pollSignIn(gateway().baseUrl, grant.device_code);
      expect([again.status, again.body]).toMatchObject([400, { error: 'expired_token' }]);
    });

    it('refreshes, also with three clients at once, until an old refresh token comes back', async () => {
      const tokens = await signIn('dana');
      const racing = await Promise.all([refreshed(tokens), refreshed(tokens), refreshed(tokens)]);
      expect(new Set(racing.map(({ access_token }) => access_token)).size).toBe(1);
      for (const { access_token } of [tokens, ...racing]) expect(await answerOf(access_token)).toBe(200);
      const [second = tokens] = racing;
      const third = await refreshed(second);
      expect((await refresh(gateway().baseUrl, tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
      await expect.poll(() => answerOf(third.access_token)).toBe(401);
      expect((await refresh(gateway().baseUrl, third.refresh_token)).status).toBe(400);
      const { entries } = await adminClient(AuditService, gateway()).listAudit({});
      expect(entries.map(({ action, actor }) => `${action} ${actor}`)).toContain(
        'person_session.replay dana@acme.test',
      );
    });

    it('learns only the address that the client itself used, and no cache keeps it', async () => {
      const ask = async (host: string) => {
        using connection = new RawConnection(gateway());
        connection.send(`GET /.well-known/oauth-authorization-server HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
        return await connection.answer();
      };
      const elsewhere = await ask('evil.example');
      expect(elsewhere).toMatchObject({ status: 200, json: { issuer: 'http://evil.example' } });
      expect(elsewhere.headers.get('cache-control')).toBe('no-store');
      expect((await ask('evil.example/path')).status).toBe(400);
    });

    it('is signed out when the client revokes its tokens', async () => {
      const tokens = await signIn('dana');
      const revoke = (token: string) => postForm(`${gateway().baseUrl}/oauth/revoke`, { token });
      expect(await Promise.all([revoke(tokens.access_token), revoke(tokens.refresh_token)])).toMatchObject([
        { status: 200 },
        { status: 200 },
      ]);
      await expect.poll(() => answerOf(tokens.access_token)).toBe(401);
      expect(await refresh(gateway().baseUrl, tokens.refresh_token)).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant' },
      });
    });

    it('learns that an operator has disabled the person', async () => {
      const tokens = await signIn('erin');
      const people = adminClient(PersonService, gateway());
      const [erin] = (await people.listPeople({ search: 'erin@' })).people;
      expect(erin?.sessions).toMatchObject([{ surface: 'claude_code', address: '127.0.0.1' }]);
      await people.setPersonDisabled({ personId: erin?.personId ?? '', disabled: true });
      await expect.poll(() => answerOf(tokens.access_token)).toBe(401);
      expect((await refresh(gateway().baseUrl, tokens.refresh_token)).status).toBe(400);
      const grant = await beginSignIn(gateway().baseUrl);
      expect((await confirmCode(grant.verification_uri, grant.user_code, gateway().provider, 'erin')).status).toBe(403);
      expect((await pollSignIn(gateway().baseUrl, grant.device_code)).body).toMatchObject({ error: 'access_denied' });
      const { entries } = await adminClient(AuditService, gateway()).listAudit({});
      const actions = entries.map(({ action, outcome, subject }) => [action, outcome, subject].join(' '));
      for (const seen of ['sign_in.approve', 'person.disable', 'session.refuse']) {
        expect(actions.join('\n')).toContain(seen);
      }
    });

    it('is refused without a group that may sign in', async () => {
      gateway().provider.groups.set('gus', ['cooks']);
      const grant = await beginSignIn(gateway().baseUrl);
      expect((await confirmCode(grant.verification_uri, grant.user_code, gateway().provider, 'gus')).status).toBe(403);
      expect((await pollSignIn(gateway().baseUrl, grant.device_code)).body).toMatchObject({ error: 'access_denied' });
    });

    it('is signed out everywhere when the provider no longer knows the person', async () => {
      const tokens = await signIn('ida');
      expect(await answerOf(tokens.access_token)).toBe(200);
      gateway().provider.removed.add('ida');
      await expect.poll(() => answerOf(tokens.access_token)).toBe(401);
      expect((await refresh(gateway().baseUrl, tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
      await expect.poll(() => lookupsOf('ida')).toEqual(['the provider has ended the sign-in']);
    });

    it('follows the groups that the person has at the provider, and stays signed in while it is away', async () => {
      const tokens = await signIn('jona');
      const { provider } = gateway();
      // Without managed settings, the client may start.
      expect(await settingsOf({ authorization: `Bearer ${tokens.access_token}` })).toBe(404);
      provider.groups.set('jona', ['managed']);
      await expect.poll(() => settingsOf({ authorization: `Bearer ${tokens.access_token}` })).toBe(200);
      provider.isAway = true;
      const { refresh_token } = await refreshed(tokens);
      provider.isAway = false;
      provider.groups.set('jona', ['cooks']);
      await expect.poll(() => answerOf(tokens.access_token)).toBe(401);
      expect((await refresh(gateway().baseUrl, refresh_token)).status).toBe(400);
      await expect.poll(() => lookupsOf('jona')).toEqual(['no group that may sign in']);
    });

    it('keeps the rules of a group that is renamed and deleted, which operators learn of', async () => {
      const { baseUrl, provider } = gateway();
      const groups = adminClient(GroupService, gateway());
      const create = () => groups.createGroup({ name: narrowGroup, access: { models: ['claude-sonnet-5'] } });
      const { group } = await create();
      const groupId = group?.groupId ?? '';
      expect((await groups.getGroup({ group: groupId })).group?.namedBy).toEqual(['OIDC_PEOPLE_GROUPS']);
      const { access_token: token } = await signIn('lena');
      const models = async () => {
        const response = await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
        const { data } = z.object({ data: z.array(z.object({ id: z.string() })) }).parse(await response.json());
        return data.map(({ id }) => id);
      };
      const lookedUp = async () => {
        const before = provider.refreshes();
        await expect.poll(() => provider.refreshes(), { timeout: roomMs(20_000) }).toBeGreaterThan(before + 3);
      };
      expect(await models()).toEqual(['claude-sonnet-5']);
      await groups.updateGroup({ groupId, name: 'Other' });
      await lookedUp();
      expect(await models()).toEqual(['claude-sonnet-5']);
      const grant = await beginSignIn(baseUrl);
      expect((await confirmCode(grant.verification_uri, grant.user_code, provider, 'lena')).status).toBe(403);
      const attention = async () =>
        (await adminClient(SystemService, gateway()).getOverview({})).overview?.attention.map(({ kind, subject }) => [
          kind,
          subject,
        ]);
      await expect.poll(attention, { timeout: roomMs(30_000) }).toContainEqual(['group_missing', narrowGroup]);
      await groups.deleteGroup({ groupId });
      await lookedUp();
      expect(await models()).toEqual(['claude-sonnet-5']);
      expect((await groups.listGroups({})).groups.map((listed) => listed.group?.groupId)).not.toContain(groupId);
      await create();
      await signIn('lena');
      expect(await models()).toEqual(['claude-sonnet-5']);
    });

    it('gets the managed settings of the group, which the client can verify and keep', async () => {
      const issued = await gateway().operator.issue({
        ...{ kind: TokenKind.PERSONAL, label: 'managed', groupId: managedGroupId },
      });
      const authorization = `Bearer ${issued.tokenText}`;
      const ask = (headers: Readonly<Record<string, string>> = {}) =>
        fetch(`${gateway().baseUrl}/managed/settings`, { headers: { authorization, ...headers } });
      const response = await ask();
      expect(response.status).toBe(200);
      const text = '{"availableModels":["claude-sonnet-5"],"enforceAvailableModels":true,"model":"claude-sonnet-5"}';
      const checksum = `sha256:${hash('sha256', text)}`;
      expect(await response.json()).toEqual({ uuid: checksum, checksum, settings: JSON.parse(text) });
      const etag = response.headers.get('etag') ?? '';
      expect(etag).toBe(`"${checksum}"`);
      expect((await ask({ 'if-none-match': etag })).status).toBe(304);
      expect((await ask({ 'if-none-match': '"sha256:old"' })).status).toBe(200);
    });

    it('gets no managed settings without a valid token', async () => {
      expect(await settingsOf({ authorization: 'Bearer nonsense' })).toBe(401);
      expect(await settingsOf({})).toBe(401);
    });

    it.each([
      ['another grant', { grant_type: 'password' }, 'unsupported_grant_type'],
      ['an unknown refresh token', { grant_type: 'refresh_token', refresh_token: 'x' }, 'invalid_grant'],
      ['an unknown device code', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code' }, 'expired_token'],
    ])('refuses %s', async (_, form, error) => {
      expect(await postForm(`${gateway().baseUrl}/oauth/token`, form)).toMatchObject({ status: 400, body: { error } });
    });
  });
}
