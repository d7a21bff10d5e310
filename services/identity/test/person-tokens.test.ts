import { testDatabases } from '@gateway/database/testing';
import { GroupService, IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { parseTokenText, tokenSha256 } from '@gateway/tokens';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PersonTokenRules } from '../src/config.ts';
import { hashKeyOf } from '../src/hashing/hash-key.ts';
import { createIdentityService } from '../src/service.ts';

const startMs = Date.parse('2026-11-27T10:00:00.000Z');
const dayMs = 86_400_000;
const allowed = { mayIssue: true, maxDays: 7 };

describe.each(testDatabases)('tokens that people issue over $name', ({ open }) => {
  it('are personal, in the group of the person, and expire', async () => {
    await using world = await openWorld(open);
    const { group } = await world.groups.createGroup({ name: 'Team A' });
    const groupId = group?.groupId ?? '';
    const dana = await world.person('dana', groupId);
    const { token, tokenText } = await world.people.issuePersonToken({ personId: dana, label: ' laptop ' });
    expect(parseTokenText(tokenText)).toEqual({ kind: 'personal' });
    expect(await world.resolve(tokenText)).toMatchObject({ kind: TokenKind.PERSONAL, label: 'laptop', groupId });
    expect(token?.expiresAtMs).toBe(startMs + 7 * dayMs);
    world.time.advanceMs(7 * dayMs);
    expect(await world.resolve(tokenText)).toBeUndefined();
    expect((await world.people.listPersonTokens({ personId: dana })).tokens).toEqual([]);
  });

  it('follow the person to another group', async () => {
    await using world = await openWorld(open);
    const { group } = await world.groups.createGroup({ name: 'Team A' });
    const dana = await world.person('dana');
    const { tokenText } = await world.people.issuePersonToken({ personId: dana, label: 'laptop' });
    await world.person('dana', group?.groupId ?? '');
    expect(await world.resolve(tokenText)).toMatchObject({ group: { name: 'Team A' } });
    await world.person('dana');
    expect(await world.resolve(tokenText)).toMatchObject({ groupId: '' });
  });

  it.each([
    ['eight days', { label: 'x', expiresAtMs: startMs + 7 * dayMs + 1 }, 'at most 7 days'],
    ['an end in the past', { label: 'x', expiresAtMs: startMs - 1 }, 'expiresAtMs'],
    ['no label', { label: ' ' }, 'label'],
  ])('are refused with %s', async (_, request, text) => {
    await using world = await openWorld(open);
    const personId = await world.person('dana');
    await expect(world.people.issuePersonToken({ personId, ...request })).rejects.toThrow(text);
  });

  it('are refused where people may not issue any, and those that exist can be revoked', async () => {
    await using world = await openWorld(open);
    const personId = await world.person('dana');
    const { token, tokenText } = await world.people.issuePersonToken({ personId, label: 'laptop' });
    const off = world.withRules(undefined);
    const tokenId = token?.tokenId ?? '';
    await expect(off.issuePersonToken({ personId, label: 'more' })).rejects.toThrow('may not issue tokens here');
    await expect(off.rotatePersonToken({ personId, tokenId })).rejects.toThrow('may not issue tokens here');
    expect(await off.listPersonTokens({ personId })).toMatchObject({
      tokens: [{ tokenId }],
      rules: { mayIssue: false },
    });
    await off.revokePersonToken({ personId, tokenId });
    expect(await world.resolve(tokenText)).toBeUndefined();
  });

  it('belong to one person: no other one can list, rotate or revoke them', async () => {
    await using world = await openWorld(open);
    const [dana, erin] = [await world.person('dana'), await world.person('erin')];
    const { token, tokenText } = await world.people.issuePersonToken({ personId: dana, label: 'laptop' });
    const tokenId = token?.tokenId ?? '';
    for (const personId of [erin, '', 'x']) {
      expect(await world.people.listPersonTokens({ personId })).toMatchObject({ tokens: [], allTokenIds: [] });
      await expect(world.people.rotatePersonToken({ personId, tokenId })).rejects.toThrow('no token with this id');
      await expect(world.people.revokePersonToken({ personId, tokenId })).rejects.toThrow('no token with this id');
    }
    expect(await world.resolve(tokenText)).toBeDefined();
  });

  it('end when the person is disabled, and the person gets no new ones, even at the same time', async () => {
    await using world = await openWorld(open);
    const personId = await world.person('dana');
    const issue = async () => (await world.people.issuePersonToken({ personId, label: 'laptop' })).tokenText;
    const before = await issue();
    const [, ...racing] = await Promise.allSettled([
      world.people.setPersonDisabled({ personId, disabled: true }),
      ...Array.from({ length: 5 }, issue),
    ]);
    const issued = racing.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    for (const text of [before, ...issued]) expect(await world.resolve(text)).toBeUndefined();
    await expect(issue()).rejects.toThrow('disabled');
    await expect(world.people.issuePersonToken({ personId: 'x', label: 'laptop' })).rejects.toThrow();
  });

  it('are at most twenty at a time, also when they are issued at the same time', async () => {
    await using world = await openWorld(open);
    const personId = await world.person('dana');
    const issue = () => world.people.issuePersonToken({ personId, label: 'laptop' });
    const issued = await Promise.allSettled(Array.from({ length: 25 }, issue));
    const done = issued.filter(({ status }) => status === 'fulfilled');
    expect(done).toHaveLength(20);
    const { tokens } = await world.people.listPersonTokens({ personId });
    expect(tokens).toHaveLength(20);
    await world.people.revokePersonToken({ personId, tokenId: tokens[0]?.tokenId ?? '' });
    expect((await issue()).token).toBeDefined();
  });

  it('keep their expiry when they are rotated, and are not rotated after it', async () => {
    await using world = await openWorld(open);
    const personId = await world.person('dana');
    const { token } = await world.people.issuePersonToken({ personId, label: 'laptop' });
    const tokenId = token?.tokenId ?? '';
    world.time.advanceMs(dayMs);
    const rotated = await world.people.rotatePersonToken({ personId, tokenId });
    expect(rotated.token?.expiresAtMs).toEqual(token?.expiresAtMs);
    world.time.advanceMs(6 * dayMs);
    await expect(world.people.rotatePersonToken({ personId, tokenId })).rejects.toThrow('expired');
  });
});

async function openWorld(open: (typeof testDatabases)[number]['open']) {
  const { database, ...opened } = await open();
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const routesWith = (personTokens: PersonTokenRules | undefined) => {
    const runtime = { logger: createLogger('identity', 'silent'), metrics: new Metrics() };
    const config = { hashKeys: [hashKeyOf(Buffer.alloc(32, 1))], ...(personTokens && { personTokens }) };
    return createIdentityService(config, { database }, runtime).routes;
  };
  const routes = routesWith(allowed);
  const [people, identity] = [directClientOf(routes, PersonService), directClientOf(routes, IdentityService)];
  return {
    ...{ people, time, groups: directClientOf(routes, GroupService) },
    withRules: (rules: PersonTokenRules | undefined) => directClientOf(routesWith(rules), PersonService),
    /** Signs the person in, and returns the id. */
    person: async (subject: string, groupId = '') => {
      const details = { issuer: 'https://login.example', subject, email: `${subject}@acme.test`, name: '', groupId };
      return (await people.recordPerson({ person: details })).person?.personId ?? '';
    },
    resolve: async (text: string) => (await identity.resolve({ tokenSha256: tokenSha256(text) })).token,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
