import { testDatabases } from '@gateway/database/testing';
import { IdentityService, type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { GrpcServer, openChannel } from '@gateway/rpc/grpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { parseTokenText, tokenSha256 } from '@gateway/tokens';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type HashKey, hashKeyOf } from '../src/hashing/hash-key.ts';
import { createIdentityService } from '../src/service.ts';

const startMs = Date.parse('2026-11-20T10:00:00.000Z');
const oldKey = hashKeyOf(Buffer.alloc(32, 1));
const newKey = hashKeyOf(Buffer.alloc(32, 2));
const limits = { requestsPerMinute: 60, tokensPerDay: 1_000_000 };

describe.each(testDatabases)('identity over $name', ({ open }) => {
  it('issues a token whose text resolves to it', async () => {
    await using world = await openWorld(open);
    const { token, tokenText } = await world.client.issue({ kind: TokenKind.SERVICE, label: 'ci', limits });
    expect(parseTokenText(tokenText)).toEqual({ kind: 'service' });
    expect(token).toMatchObject({ kind: TokenKind.SERVICE, label: 'ci', limits });
    expect(await world.resolve(tokenText)).toEqual(token);
  });

  it('stores no text and no bare digest of a token', async () => {
    await using world = await openWorld(open);
    const { tokenText } = await world.client.issue({ kind: TokenKind.PERSONAL, label: 'me' });
    const stored = JSON.stringify([
      await world.database.selectFrom('tokens').selectAll().execute(),
      await world.database.selectFrom('audit_log').selectAll().execute(),
    ]);
    expect(stored).not.toContain(tokenText);
    expect(stored).not.toContain(tokenSha256(tokenText).toString('hex'));
  });

  it('answers without a token for one that was never issued', async () => {
    await using world = await openWorld(open);
    await world.client.issue({ kind: TokenKind.PERSONAL, label: 'me' });
    expect(await world.resolve('gw_p_unknown')).toBeUndefined();
  });

  it('refuses what is not a digest', async () => {
    await using world = await openWorld(open);
    const call = world.client.resolve({ tokenSha256: new Uint8Array(31) });
    await expect(call).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('keeps absent and zero limits apart', async () => {
    await using world = await openWorld(open);
    const { tokenText } = await world.client.issue({
      kind: TokenKind.SERVICE,
      label: 'stopped',
      limits: { requestsPerMinute: 0 },
    });
    const token = await world.resolve(tokenText);
    expect(token?.limits?.requestsPerMinute).toBe(0);
    expect(token?.limits?.tokensPerDay).toBeUndefined();
  });

  it('revokes for good: the token is gone at once, and the first moment stays', async () => {
    await using world = await openWorld(open);
    const { token, tokenText } = await world.client.issue({ kind: TokenKind.SERVICE, label: 'ci' });
    world.time.advanceMs(1_000);
    const first = await world.client.revoke({ tokenId: token?.tokenId ?? '' });
    world.time.advanceMs(1_000);
    const second = await world.client.revoke({ tokenId: token?.tokenId ?? '' });
    expect(await world.resolve(tokenText)).toBeUndefined();
    expect(revokedAtMs(first.token)).toBe(startMs + 1_000);
    expect(revokedAtMs(second.token)).toBe(startMs + 1_000);
  });

  it('replaces both limits of a service token', async () => {
    await using world = await openWorld(open);
    const { token, tokenText } = await world.client.issue({ kind: TokenKind.SERVICE, label: 'ci', limits });
    await world.client.update({ tokenId: token?.tokenId ?? '', limits: { tokensPerDay: 9_007_199_254_740_991 } });
    const changed = await world.resolve(tokenText);
    expect(changed?.limits?.requestsPerMinute).toBeUndefined();
    expect(changed?.limits?.tokensPerDay).toBe(9_007_199_254_740_991);
  });

  it('refuses limits for personal, revoked and unknown tokens, and revoking unknown ones', async () => {
    await using world = await openWorld(open);
    const personal = await world.client.issue({ kind: TokenKind.PERSONAL, label: 'me' });
    const revoked = await world.client.issue({ kind: TokenKind.SERVICE, label: 'ci' });
    await world.client.revoke({ tokenId: revoked.token?.tokenId ?? '' });
    const refused = { code: 'invalid_request' };
    await expect(world.client.update({ tokenId: personal.token?.tokenId ?? '', limits })).rejects.toMatchObject(
      refused,
    );
    await expect(world.client.update({ tokenId: revoked.token?.tokenId ?? '', limits })).rejects.toMatchObject(refused);
    await expect(world.client.update({ tokenId: 'none', limits })).rejects.toMatchObject({ code: 'not_found' });
    await expect(world.client.revoke({ tokenId: 'none' })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('refuses a token without a kind, and limits for a personal one', async () => {
    await using world = await openWorld(open);
    const refused = { code: 'invalid_request' };
    await expect(world.client.issue({ label: 'x' })).rejects.toMatchObject(refused);
    await expect(world.client.issue({ kind: TokenKind.PERSONAL, label: 'x', limits })).rejects.toMatchObject(refused);
    expect((await world.client.list({ includeRevoked: true })).tokens).toEqual([]);
  });

  it('lists the newest first, revoked ones only when asked', async () => {
    await using world = await openWorld(open);
    for (const label of ['first', 'second', 'third']) {
      await world.client.issue({ kind: TokenKind.SERVICE, label });
      world.time.advanceMs(1);
    }
    const all = await world.client.list({});
    await world.client.revoke({ tokenId: all.tokens[1]?.tokenId ?? '' });
    expect(labels(await world.client.list({}))).toEqual(['third', 'first']);
    expect(labels(await world.client.list({ includeRevoked: true }))).toEqual(['third', 'second', 'first']);
  });

  it('finds tokens of an older key after a new one was put in front, and not once the old one is gone', async () => {
    await using world = await openWorld(open, [oldKey]);
    const before = await world.client.issue({ kind: TokenKind.PERSONAL, label: 'before' });
    const rotated = world.replica([newKey, oldKey]);
    const after = await rotated.issue({ kind: TokenKind.PERSONAL, label: 'after' });
    const onlyNew = world.replica([newKey]);
    expect(await resolvedLabel(rotated, before.tokenText)).toBe('before');
    expect(await resolvedLabel(rotated, after.tokenText)).toBe('after');
    expect(await resolvedLabel(onlyNew, after.tokenText)).toBe('after');
    expect(await resolvedLabel(onlyNew, before.tokenText)).toBeUndefined();
  });

  it('notifies watchers of every replica of what changed, and nothing of what was issued', async () => {
    await using world = await openWorld(open);
    const a = await world.client.issue({ kind: TokenKind.SERVICE, label: 'a' });
    const b = await world.client.issue({ kind: TokenKind.SERVICE, label: 'b' });
    const controller = new AbortController();
    const watching = [world.client, world.replica([oldKey])].map((client) => {
      const changes = client.watchChanges({}, { signal: controller.signal })[Symbol.asyncIterator]();
      return { next: async () => (await changes.next()).value?.tokenIds };
    });
    for (const watcher of watching) expect(await watcher.next()).toEqual([]);
    await world.client.revoke({ tokenId: a.token?.tokenId ?? '' });
    for (const watcher of watching) expect(await watcher.next()).toEqual([a.token?.tokenId]);
    await world.client.issue({ kind: TokenKind.SERVICE, label: 'c' });
    await world.client.update({ tokenId: b.token?.tokenId ?? '', limits });
    for (const watcher of watching) expect(await watcher.next()).toEqual([b.token?.tokenId]);
    controller.abort();
    for (const watcher of watching) await expect(watcher.next()).rejects.toMatchObject({ status: 'cancelled' });
  });

  it('misses no change among many made at once', async () => {
    await using world = await openWorld(open);
    const issued = await Promise.all(
      Array.from({ length: 20 }, (_, index) => world.client.issue({ kind: TokenKind.SERVICE, label: `t${index}` })),
    );
    const ids = issued.map(({ token }) => token?.tokenId ?? '');
    const controller = new AbortController();
    const seen = new Set<string>();
    const changes = world.client.watchChanges({}, { signal: controller.signal })[Symbol.asyncIterator]();
    await changes.next();
    const changing = Promise.all(ids.map((tokenId) => world.client.revoke({ tokenId })));
    while (seen.size < ids.length) for (const id of (await changes.next()).value?.tokenIds ?? []) seen.add(id);
    await changing;
    controller.abort();
    expect(seen).toEqual(new Set(ids));
  });

  it('refuses a label with characters that are not seen, over gRPC too', async () => {
    await using world = await openWorld(open);
    const { routes } = world.service;
    await using stack = new AsyncDisposableStack();
    const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes, onFault: () => undefined });
    stack.defer(() => server.stop(0));
    const channel = stack.use(openChannel(`http://127.0.0.1:${server.port}`));
    const issue = (label: string) => channel.client(IdentityService).issue({ kind: TokenKind.PERSONAL, label });
    for (const label of ['', 'a\u200bb', 'a\u2028b', 'x'.repeat(101)]) {
      await expect(issue(label)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringMatching(/^label must /),
      });
    }
    expect((await issue(' me ')).token?.label).toBe('me');
  });

  it('lets go of those who watch when it drains', async () => {
    await using world = await openWorld(open);
    const watching = world.client.watchChanges({})[Symbol.asyncIterator]();
    expect(await watching.next()).toMatchObject({ value: { tokenIds: [] } });
    await world.service.drain?.(60_000);
    expect(await watching.next()).toMatchObject({ done: true });
  });

  it('is ready when its database answers', async () => {
    await using world = await openWorld(open);
    expect(await world.service.notReady()).toBeUndefined();
  });
});

async function openWorld(open: (typeof testDatabases)[number]['open'], hashKeys: readonly HashKey[] = [oldKey]) {
  const opened = await open();
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const serviceWith = (keys: readonly HashKey[]) =>
    createIdentityService({ hashKeys: keys }, { database: opened.database }, runtime);
  const service = serviceWith(hashKeys);
  const client = directClientOf(service.routes, IdentityService);
  return {
    database: opened.database,
    time,
    service,
    client,
    replica: (keys: readonly HashKey[]) => directClientOf(serviceWith(keys).routes, IdentityService),
    resolve: async (text: string) => (await client.resolve({ tokenSha256: tokenSha256(text) })).token,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

type IdentityClient = Awaited<ReturnType<typeof openWorld>>['client'];

async function resolvedLabel(client: IdentityClient, text: string): Promise<string | undefined> {
  return (await client.resolve({ tokenSha256: tokenSha256(text) })).token?.label;
}

function labels({ tokens }: { readonly tokens: readonly Token[] }): readonly string[] {
  return tokens.map(({ label }) => label);
}

function revokedAtMs(token: Token | undefined): number | undefined {
  return token?.revokedAtMs;
}
