import { testDatabases } from '@gateway/database/testing';
import { GroupService, IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { tokenSha256 } from '@gateway/tokens';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hashKeyOf } from '../src/hashing/hash-key.ts';
import { createIdentityService } from '../src/service.ts';

const startMs = Date.parse('2026-11-28T10:00:00.000Z');
const dayMs = 86_400_000;
const access = { models: ['claude-sonnet-5'] };
const dana = { issuer: 'https://login.example', subject: 'dana', email: 'dana@acme.test', name: 'Dana', groupId: '' };

describe.each(testDatabases)('tokens of people over $name', ({ open }) => {
  it('keep the rules of a group that is deleted, and other tokens leave it', async () => {
    await using world = await openWorld(open);
    const groupId = await world.group('team');
    await world.record({ groupId });
    const [own, other] = [await world.issue(), await world.serviceToken(groupId)];
    await world.groups.deleteGroup({ groupId });
    expect((await world.groups.listGroups({})).groups).toEqual([]);
    expect(await world.resolve(own)).toMatchObject({ groupId, group: { access } });
    expect(await world.resolve(other)).toMatchObject({ groupId: '' });
    expect(await world.resolve(await world.issue())).toMatchObject({ groupId, group: { access } });
    // The name is free, and the deleted group takes no further tokens and people.
    const again = await world.group('team');
    await expect(world.serviceToken(groupId)).rejects.toThrow('group_id belongs to no group');
    await expect(world.people.recordPerson({ person: { ...dana, subject: 'erin', groupId } })).rejects.toThrow(
      'group_id belongs to no group',
    );
    await world.record({ groupId: again });
    expect(await world.resolve(own)).toMatchObject({ groupId: again });
    await world.groups.deleteGroup({ groupId: await world.group('last') });
    const kept = await world.database.selectFrom('token_groups').select('group_id').execute();
    expect(kept).toEqual([{ group_id: again }]);
  });

  it('are never free of rules, whatever happens to groups, until an operator wants it', async () => {
    const step = fc.constantFrom('rename', 'delete', 'create', 'move', 'record again', 'issue');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        await using world = await openWorld(open);
        let groupId = await world.group('g0');
        await world.record({ groupId });
        const texts = [await world.issue()];
        for (const [n, taken] of steps.entries()) {
          if (taken === 'rename') await world.groups.updateGroup({ groupId, name: `renamed ${n}` }).catch(() => {});
          if (taken === 'delete') await world.groups.deleteGroup({ groupId });
          if (taken === 'create') groupId = await world.group(`g${n + 1}`);
          if (taken === 'move' || taken === 'record again') await world.record({ groupId }).catch(() => {});
          if (taken === 'issue') texts.push(await world.issue());
          for (const text of texts) expect(await world.resolve(text)).toMatchObject({ group: { access } });
        }
      }),
      { numRuns: 15 },
    );
  });

  it('end after the idle time where the provider can not be asked, unless the person signs in again', async () => {
    await using world = await openWorld(open);
    await world.record({ notLookedUp: true });
    const text = await world.issue();
    expect(await world.endOf(text)).toBe(startMs + 14 * dayMs);
    world.time.advanceMs(10 * dayMs);
    await world.record({ notLookedUp: true });
    expect(await world.endOf(text)).toBe(startMs + 24 * dayMs);
    world.time.advanceMs(15 * dayMs);
    expect(await world.resolve(text)).toBeUndefined();
    await expect(world.issue()).rejects.toThrow('Sign in again first.');
    expect((await world.people.getPerson({ personId: world.personId(), withSessions: true })).person).toMatchObject({
      issuedTokens: 0,
    });
    await world.record({ notLookedUp: true });
    expect(await world.endOf(text)).toBe(startMs + 30 * dayMs);
  });

  it('end with the person at the provider, and are valid again after the next sign-in', async () => {
    await using world = await openWorld(open);
    await world.record({});
    const [text, longer] = [await world.issue(), await world.issue()];
    await world.identity.update({ tokenId: (await world.resolve(longer))?.tokenId ?? '', clearExpiry: true });
    expect(await world.endOf(text)).toBe(startMs + 30 * dayMs);
    world.time.advanceMs(1_000);
    await world.people.endSessions({ personId: world.personId(), suspendTokens: true });
    for (const each of [text, longer]) expect(await world.resolve(each)).toBeUndefined();
    world.time.advanceMs(1_000);
    await world.record({});
    expect(await world.endOf(text)).toBe(startMs + 30 * dayMs);
    expect((await world.resolve(longer))?.expiresAtMs).toBeUndefined();
  });
});

async function openWorld(open: (typeof testDatabases)[number]['open']) {
  const { database, ...opened } = await open();
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const runtime = { logger: createLogger('identity', 'silent'), metrics: new Metrics() };
  const personTokens = { mayIssue: true, maxDays: 30 };
  const hashKeys = [hashKeyOf(Buffer.alloc(32, 1))];
  const { routes } = createIdentityService({ hashKeys, personTokens }, { database }, runtime);
  const [identity, people] = [directClientOf(routes, IdentityService), directClientOf(routes, PersonService)];
  const groups = directClientOf(routes, GroupService);
  let personId = '';
  const resolve = async (text: string) => (await identity.resolve({ tokenSha256: tokenSha256(text) })).token;
  return {
    ...{ identity, people, groups, time, database, resolve, personId: () => personId },
    async group(name: string) {
      return (await groups.createGroup({ name, access })).group?.groupId ?? '';
    },
    async record(claims: { readonly groupId?: string; readonly notLookedUp?: boolean }) {
      personId = (await people.recordPerson({ person: { ...dana, ...claims } })).person?.personId ?? '';
    },
    async issue() {
      return (await people.issuePersonToken({ personId, label: 'laptop' })).tokenText;
    },
    async serviceToken(groupId: string) {
      return (await identity.issue({ kind: TokenKind.SERVICE, label: 'ci', groupId })).tokenText;
    },
    async endOf(text: string) {
      const { expiresAtMs } = (await resolve(text)) ?? {};
      return expiresAtMs;
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
