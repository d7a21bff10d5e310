import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { IdentityService, TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import { fieldsOf, peer, rpcWorld, startMs } from '../__fixtures__/rpc-world.ts';
import { tokenService } from './token-service.ts';

const ci = token({ tokenId: 'aaa1', label: 'ci', limits: { requestsPerMinute: 60 } });
const me = token({ tokenId: 'aab2', label: 'me', kind: TokenKind.PERSONAL });
const oldCi = token({ tokenId: 'bbb3', label: 'ci', revokedAtMs: startMs });

describe('listing tokens', () => {
  it('shows the state of their limits and their usage on each of 14 days, today last', async () => {
    const { client } = await worldOf([ci, me]);
    const { tokens } = await client.listTokens({});
    expect(tokens.map(({ token }) => token?.label)).toEqual(['ci', 'me']);
    expect(tokens[0]?.limits?.requests?.remaining).toBe(59);
    expect(tokens[1]?.limits).toBeUndefined();
    expect(tokens[0]?.tokensByDay).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 11]);
  });

  it("leaves out values that the limiter and the ledger can't return", async () => {
    const { client } = await worldOf([ci], { isAway: true });
    const { tokens } = await client.listTokens({});
    expect(tokens).toMatchObject([{ token: { label: 'ci' }, tokensByDay: [] }]);
    expect(tokens[0]?.limits).toBeUndefined();
  });

  it('shows only those that have reached a limit, and says so if the limiter is away', async () => {
    const [full, none] = [
      token({ tokenId: 'ccc4', label: 'full', limits: { requestsPerMinute: 1 } }),
      token({ tokenId: 'ddd5', label: 'none', limits: {} }),
    ];
    const { client } = await worldOf([ci, full, me, none]);
    const { tokens } = await client.listTokens({ atLimit: true });
    expect(tokens.map((each) => each.token?.label)).toEqual(['full']);
    const away = await worldOf([ci], { isAway: true });
    await expect(away.client.listTokens({ atLimit: true })).rejects.toThrow();
  });

  it('reads on until a page has a token that has reached a limit', async () => {
    const many = Array.from({ length: 60 }, (_, n) => token({ tokenId: `t${n}`, limits: { requestsPerMinute: 60 } }));
    const full = token({ tokenId: 'last', label: 'full', limits: { requestsPerMinute: 1 } });
    const { client } = await worldOf([...many, full]);
    const first = await client.listTokens({ atLimit: true, pageSize: 2 });
    expect(first).toMatchObject({ tokens: [], nextPageToken: '40' });
    const second = await client.listTokens({ atLimit: true, pageSize: 2, pageToken: first.nextPageToken });
    expect(second.tokens.map((each) => each.token?.label)).toEqual(['full']);
  });

  it('asks about no more than sixteen tokens at a time, and leaves none out', async () => {
    const many = Array.from({ length: 100 }, (_, n) => token({ tokenId: `t${n}`, limits: { requestsPerMinute: 1 } }));
    const world = await worldOf(many);
    const { tokens } = await world.client.listTokens({ pageSize: 1_000 });
    expect(tokens.map((each) => each.token?.tokenId)).toEqual(many.map(({ tokenId }) => tokenId));
    expect(tokens.every(({ limits }) => limits !== undefined)).toBe(true);
    expect(world.mostAtATime()).toBe(16);
    expect(Object.keys(await fieldsOf(world.client.listTokens({ pageSize: 1_001 })))).toEqual(['pageSize']);
  });
});

describe('one token', () => {
  it.each([
    ['aaa1', 'aaa1'],
    ['aab', 'aab2'],
    ['me', 'aab2'],
    ['b', 'bbb3'],
    // Two tokens have that label; one is still valid.
    [' ci ', 'aaa1'],
  ])('is meant by %j', async (wanted, tokenId) => {
    const { client } = await worldOf([ci, me, oldCi]);
    expect((await client.getToken({ token: wanted })).token?.token?.tokenId).toBe(tokenId);
  });

  it('is asked for more exactly when several are meant, at most five of which are named', async () => {
    const many = Array.from({ length: 8 }, (_, n) => token({ tokenId: `abc${n}`, label: `t${n}` }));
    const { client } = await worldOf(many);
    const refused = client.getToken({ token: 'abc' });
    await expect(refused).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(refused).rejects.toThrow('abc0 (t0), abc1 (t1), abc2 (t2), abc3 (t3), abc4 (t4), and 3 more');
    await expect(client.getToken({ token: 'none' })).rejects.toMatchObject({ code: Code.NotFound });
    expect(Object.keys(await fieldsOf(client.getToken({ token: ' ' })))).toEqual(['token']);
  });
});

describe('changing tokens', () => {
  it('reports every problem at its field, and nothing reaches identity or the audit log', async () => {
    const { client, audited } = await worldOf([ci, me]);
    const limits = { requestsPerMinute: 1, tokensPerDay: -1 };
    const wrong = { label: '', note: '\u0000', expiresAtMs: startMs, limits };
    const fields = ['expiresAtMs', 'label', 'limits.tokensPerDay', 'note'];
    const issued = await fieldsOf(client.issueToken({ ...wrong, kind: TokenKind.SERVICE }));
    expect(Object.keys(issued).toSorted()).toEqual(fields);
    expect(issued.label).toBe('Must be 1 to 100 characters, not 0.');
    const withoutKind = await fieldsOf(client.issueToken({ label: 'x' }));
    expect(Object.keys(withoutKind)).toEqual(['kind']);
    expect(Object.keys(await fieldsOf(client.updateToken({ ...wrong, tokenId: 'aaa1' }))).toSorted()).toEqual(fields);
    const limited = client.updateToken({ tokenId: 'aab2', limits: { requestsPerMinute: 1 } });
    expect(Object.keys(await fieldsOf(limited))).toEqual(['limits']);
    const strict = client.updateToken({ tokenId: 'aaa1', limits: { requestsPerMinute: 1, strictTokens: true } });
    expect(await fieldsOf(strict)).toEqual({ 'limits.strictTokens': 'Needs a limit of tokens per day.' });
    const both = { tokenId: 'aaa1', expiresAtMs: startMs + 1, clearExpiry: true };
    expect(Object.keys(await fieldsOf(client.updateToken(both)))).toEqual(['clearExpiry']);
    const long = client.rotateToken({ tokenId: 'aaa1', keepOldSeconds: 2_592_001 });
    expect(Object.keys(await fieldsOf(long))).toEqual(['keepOldSeconds']);
    await expect(client.updateToken({ tokenId: 'none', label: 'x' })).rejects.toMatchObject({ code: Code.NotFound });
    expect(await audited()).toEqual([]);
  });

  it('is audited with the state before and after, and without the text', async () => {
    const { client, audited, time } = await worldOf([ci]);
    const limits = { tokensPerDay: 5, strictTokens: true };
    const issued = await client.issueToken({ kind: TokenKind.SERVICE, label: 'new', limits });
    expect(issued.tokenText).toBe('gw_s_canary');
    time.advanceMs(1);
    await client.updateToken({ tokenId: 'aaa1', label: 'nightly' });
    time.advanceMs(1);
    await client.rotateToken({ tokenId: 'aaa1', keepOldSeconds: 60 });
    time.advanceMs(1);
    await client.revokeToken({ tokenId: 'aaa1' });
    time.advanceMs(1);
    const again = await client.revokeToken({ tokenId: 'aaa1' });
    expect(again.token?.revokedAtMs).toBeDefined();
    const entries = await audited();
    expect(entries).toMatchObject([
      { action: 'token.issue', subject: 'new1', after: { label: 'new', limits } },
      { action: 'token.update', subject: 'aaa1', before: { label: 'ci' }, after: { label: 'nightly' } },
      { action: 'token.rotate', before: { revision: 2 }, after: { revision: 3, keepOldSeconds: 60 } },
      { action: 'token.revoke', after: { revokedAt: '2026-11-23T10:00:00.003Z' } },
    ]);
    expect(entries.every(({ actor, outcome }) => actor === 'ada' && outcome === 'done')).toBe(true);
    expect(JSON.stringify(entries)).not.toContain('canary');
  });

  it('says whether another valid token has the label of a new one', async () => {
    const { client } = await worldOf([ci, me, token({ tokenId: 'ccc4', label: 'nightly', revokedAtMs: 1 })]);
    const isInUse = async (label: string) => (await client.issueToken({ kind: TokenKind.SERVICE, label })).labelIsInUse;
    expect(await isInUse('ci')).toBe(true);
    expect(await isInUse(' ci ')).toBe(true);
    expect(await isInUse('c')).toBe(false);
    expect(await isInUse('nightly')).toBe(false);
  });

  it('is refused if another operator changed the token meanwhile, unless any revision will do', async () => {
    const { client, audited } = await worldOf([ci]);
    await client.updateToken({ tokenId: 'aaa1', label: 'first', expectedRevision: 1 });
    const second = client.updateToken({ tokenId: 'aaa1', label: 'second', expectedRevision: 1 });
    await expect(second).rejects.toMatchObject({ code: Code.Aborted });
    const third = await client.updateToken({ tokenId: 'aaa1', label: 'third' });
    expect(third.token).toMatchObject({ label: 'third', revision: 3 });
    expect((await audited()).map(({ outcome }) => outcome).toSorted()).toEqual(['done', 'done', 'failed']);
  });

  it('is detected if two rotate one token at once: the second one fails', async () => {
    const { client, audited } = await worldOf([ci]);
    const rotate = () => client.rotateToken({ tokenId: 'aaa1', expectedRevision: 1 });
    expect((await rotate()).tokenText).toBe('gw_s_canary');
    await expect(rotate()).rejects.toMatchObject({ code: Code.Aborted });
    expect((await audited()).map(({ outcome }) => outcome).toSorted()).toEqual(['done', 'failed']);
    const failed = (await audited()).find(({ outcome }) => outcome === 'failed');
    expect(failed).toHaveProperty('reason', expect.stringMatching(/changed/));
  });
});

function token(fields: MessageInitShape<typeof TokenSchema>) {
  return create(TokenSchema, { kind: TokenKind.SERVICE, revision: 1, ...fields });
}

/** An identity service with these tokens, a limiter and a ledger. */
async function worldOf(tokens: readonly ReturnType<typeof token>[], { isAway = false } = {}) {
  const stored = new Map(tokens.map((each) => [each.tokenId, each]));
  const change = (tokenId: string, fields: object) => {
    const before = stored.get(tokenId) ?? expect.fail();
    const after = create(TokenSchema, { ...before, ...fields, revision: before.revision + 1 });
    stored.set(tokenId, after);
    return after;
  };
  const identity = peer(IdentityService, {
    list: ({ tokenIds, search, pageSize, pageToken }) => {
      const all = [...stored.values()];
      if (tokenIds.length > 0) return { tokens: all.filter(({ tokenId }) => tokenIds.includes(tokenId)) };
      const found = all.filter(({ tokenId, label }) => tokenId.startsWith(search) || label.includes(search));
      const end = Number(pageToken) + (pageSize || found.length);
      return { tokens: found.slice(Number(pageToken), end), nextPageToken: end < found.length ? String(end) : '' };
    },
    issue: ({ kind, label, limits }) => ({
      token: token({ tokenId: 'new1', kind, label, limits }),
      tokenText: 'gw_s_canary',
    }),
    update: ({ tokenId, label, expectedRevision }) => {
      const now = stored.get(tokenId) ?? expect.fail();
      if (now.revision !== expectedRevision) return { token: now, conflict: true };
      return { token: change(tokenId, { label }) };
    },
    rotate: ({ tokenId, expectedRevision }) => {
      const now = stored.get(tokenId) ?? expect.fail();
      if (expectedRevision !== 0 && now.revision !== expectedRevision) return { token: now, conflict: true };
      return { token: change(tokenId, {}), tokenText: 'gw_s_canary' };
    },
    revoke: ({ tokenId }) => ({ token: change(tokenId, { revokedAtMs: startMs + 3 }) }),
  });
  let [now, most] = [0, 0];
  const limiter = peer(LimiterService, {
    peek: async ({ key, limits }) => {
      if (isAway) throw new Error('away');
      expect(key).toMatch(/^token:/);
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      const limit = limits?.requestsPerMinute ?? 0;
      return { status: { requests: { limit, remaining: limit - 1 } } };
    },
  });
  const usageReport = peer(UsageReportService, {
    reportUsage: ({ firstDay, lastDay, pageToken }) => {
      if (isAway) throw new Error('away');
      expect([firstDay, lastDay]).toEqual(['2026-11-10', '2026-11-23']);
      // Two pages with a day each.
      if (pageToken === '') {
        return {
          rows: [{ localDay: '2026-11-22', totals: { inputTokens: 4, outputTokens: 3 } }],
          nextPageToken: 'p',
        };
      }
      return { rows: [{ localDay: '2026-11-23', totals: { inputTokens: 11 } }] };
    },
  });
  const world = await rpcWorld(TokenService, tokenService, { identity, limiter, usageReport });
  return { ...world, mostAtATime: () => most };
}
