import type { MessageInitShape } from '@bufbuild/protobuf';
import { testDatabases } from '@gateway/database/testing';
import {
  GroupService,
  IdentityService,
  TokenKind,
  UnpricedModels,
} from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod, type LimitsSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { roomMs } from '@gateway/testkit/room';
import { tokenSha256 } from '@gateway/tokens';
import { describe, expect, it } from 'vitest';
import { hashKeyOf } from '../src/hashing/hash-key.ts';
import { createIdentityService } from '../src/service.ts';

const limits = {
  requestsPerMinute: 60,
  tokensPerDay: 1_000_000,
  concurrentRequests: 8,
  strictTokens: true,
  budget: { amountMicros: 250_000_000, period: BudgetPeriod.MONTH },
};
const access = { models: ['gateway/*', 'claude-sonnet-5'], accountLabels: ['eu'] };

describe.each(testDatabases)('groups over $name', ({ open }) => {
  it('have limits, a budget and rules, and change one by one', async () => {
    await using world = await openWorld(open);
    const { group } = await world.groups.createGroup({ name: ' team-a ', note: 'for Ada', limits, access });
    expect(group).toMatchObject({ name: 'team-a', note: 'for Ada', limits, access, revision: 1, tokens: 0 });
    const { groupId = '' } = group ?? {};
    const renamed = await world.groups.updateGroup({ groupId, name: 'team-b' });
    expect(renamed.group).toMatchObject({ name: 'team-b', limits, access, revision: 2 });
    const bare = await world.groups.updateGroup({ groupId, limits: {}, access: {}, expectedRevision: 2 });
    expect(bare.group?.limits).toMatchObject({ $typeName: 'gateway.limiter.v2.Limits', strictTokens: false });
    expect(bare.group?.limits?.budget).toBeUndefined();
    expect(bare.group?.access).toBeUndefined();
    expect((await world.groups.listGroups({})).groups).toEqual([bare.group]);
  });

  it('are sorted by name, with the number of their valid tokens', async () => {
    await using world = await openWorld(open);
    const [b, a] = [await world.group('b'), await world.group('a')];
    await world.issue({ groupId: a });
    const { token } = await world.issue({ groupId: a });
    await world.issue({ groupId: b });
    await world.identity.revoke({ tokenId: token?.tokenId ?? '' });
    const { groups } = await world.groups.listGroups({});
    expect(groups.map(({ name, tokens }) => [name, tokens])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    const { tokens } = await world.identity.list({ groupId: a, includeRevoked: true });
    expect(tokens.map(({ groupId }) => groupId)).toEqual([a, a]);
  });

  it('are listed with a damaged rule, which allows nothing', async () => {
    await using world = await openWorld(open);
    const damaged = await world.group('a');
    await world.group('b');
    const { tokenText } = await world.issue({ groupId: damaged });
    for (const list of ['[', '{}', '[7]']) {
      const changed = world.database.updateTable('token_groups').set({ allowed_models: list });
      await changed.where('group_id', '=', damaged).execute();
      const { groups } = await world.groups.listGroups({});
      expect(groups.map(({ name, access: rules }) => [name, rules?.models])).toEqual([
        ['a', ['(damaged list)']],
        ['b', undefined],
      ]);
    }
    expect((await world.resolve(tokenText))?.group?.access?.models).toEqual(['(damaged list)']);
  });

  it('travel with each token of theirs', async () => {
    await using world = await openWorld(open);
    const { group } = await world.groups.createGroup({ name: 'team-a', limits, access });
    const { tokenText, token } = await world.issue({ groupId: group?.groupId ?? '' });
    const resolved = await world.resolve(tokenText);
    expect(resolved).toMatchObject({ groupId: group?.groupId, group: { name: 'team-a', limits, access } });
    await world.identity.update({ tokenId: token?.tokenId ?? '', groupId: '' });
    expect(await world.resolve(tokenText)).toMatchObject({ groupId: '' });
    expect((await world.resolve(tokenText))?.group).toBeUndefined();
  });

  it('announce each change as a change of their tokens', async () => {
    await using world = await openWorld(open);
    const groupId = await world.group('team-a');
    const [first, second] = [await world.issue({ groupId }), await world.issue({ groupId })];
    const ids = [first, second].map(({ token }) => token?.tokenId ?? '').toSorted();
    await world.issue({});
    const changes = world.identity
      .watchChanges({}, { signal: AbortSignal.timeout(roomMs(30_000)) })
      [Symbol.asyncIterator]();
    await changes.next();
    const announced = async () => {
      const { value } = await changes.next();
      return value?.tokenIds.toSorted();
    };
    await world.groups.updateGroup({ groupId, limits: {} });
    expect(await announced()).toEqual(ids);
    await world.groups.deleteGroup({ groupId });
    expect(await announced()).toEqual(ids);
    await changes.return?.();
  });

  it('leave their tokens valid when they are deleted', async () => {
    await using world = await openWorld(open);
    const groupId = await world.group('team-a');
    const { tokenText } = await world.issue({ groupId });
    expect((await world.groups.deleteGroup({ groupId })).group?.name).toBe('team-a');
    expect(await world.resolve(tokenText)).toMatchObject({ groupId: '' });
    expect((await world.groups.deleteGroup({ groupId })).group).toBeUndefined();
    expect((await world.groups.listGroups({})).groups).toEqual([]);
  });

  it('have names of their own', async () => {
    await using world = await openWorld(open);
    const [groupId] = [await world.group('team-a'), await world.group('team-b')];
    const taken = { code: 'invalid_request', message: 'A group with the name team-b exists already.' };
    await expect(world.groups.createGroup({ name: 'team-b' })).rejects.toMatchObject(taken);
    await expect(world.groups.updateGroup({ groupId, name: 'team-b' })).rejects.toMatchObject(taken);
    expect((await world.groups.updateGroup({ groupId, name: 'team-a' })).group?.revision).toBe(2);
  });

  it('refuse everything that is wrong at once', async () => {
    await using world = await openWorld(open);
    const wrong = {
      name: '',
      limits: { tokensPerDay: -1, budget: { amountMicros: -1 } },
      access: { models: ['a b'], accountLabels: ['ü'] },
    };
    const message = expect.stringMatching(
      /name must .*limits\.tokensPerDay must .*limits\.budget\.amount must .*limits\.budget\.period must .*access\.models must .*access\.accountLabels must /s,
    );
    await expect(world.groups.createGroup(wrong)).rejects.toMatchObject({ code: 'invalid_request', message });
    await expect(world.groups.updateGroup({ groupId: 'x', name: 'a' })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('change once when several change them at the same time with the same revision in mind', async () => {
    await using world = await openWorld(open);
    const groupId = await world.group('team-a');
    const notes = ['one', 'two', 'three', 'four'];
    const answers = await Promise.all(
      notes.map((note) => world.groups.updateGroup({ groupId, note, expectedRevision: 1 })),
    );
    expect(answers.filter(({ conflict }) => !conflict)).toHaveLength(1);
    expect((await world.groups.listGroups({})).groups).toMatchObject([{ revision: 2 }]);
  });
});

describe.each(testDatabases)('rules of a token of its own over $name', ({ open }) => {
  it('are kept, and replaced as a whole', async () => {
    await using world = await openWorld(open);
    const own = { tokensPerDay: 1_000, concurrentRequests: 2, strictTokens: true };
    const { token, tokenText } = await world.issue({ access, limits: own });
    const { tokenId = '' } = token ?? {};
    expect(await world.resolve(tokenText)).toMatchObject({ access, limits: own });
    await world.identity.update({ tokenId, access: { models: ['gpt-5.5'] } });
    const resolved = await world.resolve(tokenText);
    expect(resolved).toMatchObject({ access: { models: ['gpt-5.5'], accountLabels: [] }, limits: own });
    await world.identity.update({ tokenId, access: {}, limits: { tokensPerDay: 1_000 } });
    const bare = await world.resolve(tokenText);
    expect(bare?.access).toBeUndefined();
    expect(bare?.limits).toMatchObject({ tokensPerDay: 1_000, strictTokens: false });
  });

  it('refuse models without a price unless they are set to price them as the dearest', async () => {
    await using world = await openWorld(open);
    const { group } = await world.groups.createGroup({ name: 'team-a' });
    const { groupId = '' } = group ?? {};
    expect(group?.unpricedModels).toBe(UnpricedModels.REFUSE);
    const changed = await world.groups.updateGroup({ groupId, unpricedModels: UnpricedModels.DEAREST });
    expect(changed.group?.unpricedModels).toBe(UnpricedModels.DEAREST);
    const { tokenText } = await world.issue({ groupId });
    expect((await world.resolve(tokenText))?.group?.unpricedModels).toBe(UnpricedModels.DEAREST);
    await world.groups.updateGroup({ groupId, name: 'team-b' });
    expect((await world.groups.listGroups({})).groups[0]?.unpricedModels).toBe(UnpricedModels.DEAREST);
    const back = await world.groups.updateGroup({ groupId, unpricedModels: UnpricedModels.REFUSE });
    expect(back.group?.unpricedModels).toBe(UnpricedModels.REFUSE);
    const other = await world.groups.createGroup({ name: 'team-c', unpricedModels: UnpricedModels.DEAREST });
    expect(other.group?.unpricedModels).toBe(UnpricedModels.DEAREST);
  });

  it('have a default of requests at a time where their group has a budget, unless it sets its own', async () => {
    await using world = await openWorld(open);
    const appliedOf = async (given: MessageInitShape<typeof LimitsSchema>) => {
      const { group } = await world.groups.createGroup({ name: crypto.randomUUID(), limits: given });
      const { tokenText } = await world.issue({ groupId: group?.groupId ?? '' });
      const resolved = await world.resolve(tokenText);
      return [group?.limits?.concurrentRequests, resolved?.group?.limits?.concurrentRequests];
    };
    const budget = { amountMicros: 1, period: BudgetPeriod.DAY };
    expect(await appliedOf({ budget })).toEqual([undefined, 20]);
    expect(await appliedOf({ budget, concurrentRequests: 3 })).toEqual([3, 3]);
    expect(await appliedOf({ requestsPerMinute: 1 })).toEqual([undefined, undefined]);
  });

  it('have no budget, no strict tokens without a limit, no unknown group, and no limits on a personal token', async () => {
    await using world = await openWorld(open);
    const budget = { amountMicros: 1, period: BudgetPeriod.DAY };
    const refused = { code: 'invalid_request' };
    await expect(world.issue({ limits: { budget } })).rejects.toMatchObject(refused);
    await expect(world.issue({ groupId: 'unknown' })).rejects.toMatchObject(refused);
    const strict = { limits: { requestsPerMinute: 1, strictTokens: true } };
    const message = 'limits.strictTokens needs a limit of tokens per day.';
    await expect(world.issue(strict)).rejects.toMatchObject({ ...refused, message });
    await expect(world.groups.createGroup({ name: 'team-b', ...strict })).rejects.toMatchObject({
      ...refused,
      message,
    });
    const personal = { kind: TokenKind.PERSONAL, limits: { concurrentRequests: 1 } };
    await expect(world.issue(personal)).rejects.toMatchObject(refused);
    const groupId = await world.group('team-a');
    expect((await world.issue({ kind: TokenKind.PERSONAL, groupId, access })).token).toMatchObject({ groupId, access });
  });
});

async function openWorld(open: (typeof testDatabases)[number]['open']) {
  const { database, ...opened } = await open();
  const runtime = { logger: createLogger('identity', 'silent'), metrics: new Metrics() };
  const hashKeys = [hashKeyOf(Buffer.alloc(32, 1))];
  const { routes } = createIdentityService({ hashKeys }, { database }, runtime);
  const [identity, groups] = [directClientOf(routes, IdentityService), directClientOf(routes, GroupService)];
  return {
    database,
    identity,
    groups,
    issue: (details: Parameters<typeof identity.issue>[0]) =>
      identity.issue({ kind: TokenKind.SERVICE, label: 'ci', ...details }),
    group: async (name: string) => (await groups.createGroup({ name })).group?.groupId ?? '',
    resolve: async (text: string) => (await identity.resolve({ tokenSha256: tokenSha256(text) })).token,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
