import { testDatabases } from '@gateway/database/testing';
import { IdentityService, type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { tokenSha256 } from '@gateway/tokens';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hashKeyOf } from '../src/hashing/hash-key.ts';
import { createIdentityService } from '../src/service.ts';

const startMs = Date.parse('2026-11-20T10:00:00.000Z');
const refused = { code: 'invalid_request' };

describe.each(testDatabases)('details of tokens over $name', ({ open }) => {
  it('are kept and change one by one, and each change counts', async () => {
    await using world = await openWorld(open);
    const expiresAtMs = startMs + 60_000;
    const issued = await world.issue({ label: ' ci ', note: ' for the nightly build\n', expiresAtMs });
    expect(issued.token).toMatchObject({ label: 'ci', note: 'for the nightly build', revision: 1, expiresAtMs });
    const { tokenId } = issued.token;
    const limits = { requestsPerMinute: 5 };
    expect(await world.update({ tokenId, label: ' nightly ' })).toMatchObject({ label: 'nightly', revision: 2 });
    expect(await world.update({ tokenId, note: '', limits })).toMatchObject({ note: '', limits, revision: 3 });
    const cleared = await world.update({ tokenId, clearExpiry: true });
    expect(cleared).toMatchObject({ label: 'nightly', note: '', limits, revision: 4 });
    expect(cleared?.expiresAtMs).toBeUndefined();
    expect(await world.resolve(issued.tokenText)).toEqual(cleared);
  });

  it('are refused with all that is wrong, and nothing is changed', async () => {
    await using world = await openWorld(open);
    const { token } = await world.issue();
    const { tokenId } = token;
    const wrong = { tokenId, label: '', note: '\u0000', expiresAtMs: startMs };
    const message = expect.stringMatching(/label must .* note must .* expiresAtMs must /s);
    await expect(world.client.update(wrong)).rejects.toMatchObject({ ...refused, message });
    const both = { tokenId, expiresAtMs: startMs + 1, clearExpiry: true };
    await expect(world.client.update(both)).rejects.toMatchObject(refused);
    await expect(world.client.update({ tokenId, expectedRevision: 1 })).rejects.toMatchObject(refused);
    expect((await world.client.list({})).tokens).toEqual([token]);
  });

  it('change once when several change them at the same time with the same revision in mind', async () => {
    await using world = await openWorld(open);
    const { token } = await world.issue();
    const labels = ['one', 'two', 'three', 'four', 'five'];
    const answers = await Promise.all(
      labels.map((label) => world.client.update({ tokenId: token.tokenId, label, expectedRevision: 1 })),
    );
    const winners = answers.filter(({ conflict }) => !conflict);
    expect(winners).toHaveLength(1);
    const [now] = (await world.client.list({})).tokens;
    expect(now).toMatchObject({ label: winners[0]?.token?.label, revision: 2 });
    // The other callers receive the result of the first change.
    for (const { conflict, token } of answers) if (conflict) expect(token).toEqual(now);
  });

  it('end a token at the millisecond, and a later end brings it back', async () => {
    await using world = await openWorld(open);
    const { token, tokenText } = await world.issue({ expiresAtMs: startMs + 1_000 });
    world.time.advanceMs(999);
    expect(await world.resolve(tokenText)).toEqual(token);
    world.time.advanceMs(1);
    expect(await world.resolve(tokenText)).toBeUndefined();
    expect((await world.client.list({})).tokens).toEqual([]);
    expect((await world.client.list({ includeRevoked: true })).tokens).toEqual([token]);
    await expect(world.client.rotate({ tokenId: token.tokenId })).rejects.toMatchObject(refused);
    const later = startMs + 2_000;
    const prolonged = await world.update({ tokenId: token.tokenId, expiresAtMs: later });
    expect(await world.resolve(tokenText)).toEqual(prolonged);
  });
});

describe.each(testDatabases)('a token that is given another text, over $name', ({ open }) => {
  it('keeps its id, and its old text works no more', async () => {
    await using world = await openWorld(open);
    const { token, tokenText } = await world.issue();
    const rotated = await world.client.rotate({ tokenId: token.tokenId });
    expect(rotated.token).toMatchObject({ tokenId: token.tokenId, revision: 2 });
    expect(rotated.tokenText).not.toBe(tokenText);
    expect(await world.resolve(rotated.tokenText)).toEqual(rotated.token);
    expect(await world.resolve(tokenText)).toBeUndefined();
  });

  it('gets one new text when several rotate it at the same time with the same revision in mind', async () => {
    await using world = await openWorld(open);
    const { token } = await world.issue();
    const { tokenId } = token;
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => world.client.rotate({ tokenId, expectedRevision: 1, keepOldSeconds: 60 })),
    );
    const texts = answers.flatMap(({ tokenText, conflict }) => (conflict ? [] : [tokenText]));
    expect(texts).toHaveLength(1);
    expect(await world.resolve(texts[0] ?? '')).toMatchObject({ tokenId, revision: 2 });
    for (const { conflict, token, tokenText } of answers) {
      if (conflict) expect([token?.revision, tokenText]).toEqual([2, '']);
    }
  });

  it('answers to the old one for as long as asked, to the millisecond, and says until when', async () => {
    await using world = await openWorld(open);
    const { token, tokenText } = await world.issue();
    const rotated = await world.client.rotate({ tokenId: token.tokenId, keepOldSeconds: 60 });
    expect(endOf(await world.resolve(tokenText))).toBe(startMs + 60_000);
    expect(endOf(await world.resolve(rotated.tokenText))).toBeUndefined();
    expect(await world.resolve(rotated.tokenText)).toEqual(rotated.token);
    const listed = async () => (await world.client.list({})).tokens[0]?.oldTextValidUntilMs;
    expect(await listed()).toEqual(startMs + 60_000);
    world.time.advanceMs(59_999);
    expect((await world.resolve(tokenText))?.tokenId).toBe(token.tokenId);
    world.time.advanceMs(1);
    expect(await world.resolve(tokenText)).toBeUndefined();
    expect(await world.resolve(rotated.tokenText)).toMatchObject({ tokenId: token.tokenId, revision: 2 });
    expect(await listed()).toBeUndefined();
  });

  it('keeps no text beyond its own end, or beyond two rotations', async () => {
    await using world = await openWorld(open);
    const first = await world.issue({ expiresAtMs: startMs + 1_000 });
    const { tokenId } = first.token;
    const second = await world.client.rotate({ tokenId, keepOldSeconds: 60 });
    expect(second.token?.oldTextValidUntilMs).toEqual(startMs + 1_000);
    expect(endOf(await world.resolve(first.tokenText))).toBe(startMs + 1_000);
    const third = await world.client.rotate({ tokenId, keepOldSeconds: 60 });
    expect(await world.resolve(first.tokenText)).toBeUndefined();
    expect((await world.resolve(second.tokenText))?.tokenId).toBe(tokenId);
    const { token: revoked } = await world.client.revoke({ tokenId });
    expect(revoked?.oldTextValidUntilMs).toBeUndefined();
    for (const { tokenText } of [second, third]) expect(await world.resolve(tokenText)).toBeUndefined();
    await expect(world.client.rotate({ tokenId })).rejects.toMatchObject(refused);
  });

  it('is refused a longer time than 30 days, and one that there is not', async () => {
    await using world = await openWorld(open);
    const { token } = await world.issue();
    const { tokenId } = token;
    await expect(world.client.rotate({ tokenId, keepOldSeconds: 2_592_001 })).rejects.toMatchObject(refused);
    expect((await world.client.rotate({ tokenId, keepOldSeconds: 2_592_000 })).token?.revision).toBe(2);
    await expect(world.client.rotate({ tokenId: 'none' })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is announced to those who watch', async () => {
    await using world = await openWorld(open);
    const { token } = await world.issue();
    const controller = new AbortController();
    const changes = world.client.watchChanges({}, { signal: controller.signal })[Symbol.asyncIterator]();
    await changes.next();
    await world.client.rotate({ tokenId: token.tokenId });
    expect((await changes.next()).value?.tokenIds).toEqual([token.tokenId]);
    controller.abort();
  });
});

describe.each(testDatabases)('looking for tokens over $name', ({ open }) => {
  it('finds parts of labels and notes in any case, and beginnings of ids', async () => {
    await using world = await openWorld(open);
    const ci = await world.issue({ label: 'CI Nachtelijk', note: 'ask Ada' });
    const odd = await world.issue({ label: '100%_done\\', note: 'É' });
    const find = async (search: string) => (await world.client.list({ search })).tokens.map(({ label }) => label);
    expect(await find('nacht')).toEqual(['CI Nachtelijk']);
    expect(await find('ADA')).toEqual(['CI Nachtelijk']);
    expect(await find(ci.token.tokenId.slice(0, 8))).toEqual(['CI Nachtelijk']);
    expect(await find(ci.token.tokenId.slice(1))).toEqual([]);
    for (const search of ['%', '_', '\\', '%_d', 'É']) expect(await find(search)).toEqual([odd.token.label]);
    expect(await find('nothing\0')).toEqual([]);
    await expect(find('x'.repeat(201))).rejects.toMatchObject(refused);
  });

  it('gives those of the ids that are asked for, ended ones too', async () => {
    await using world = await openWorld(open);
    const [a, b] = [await world.issue({ label: 'a' }), await world.issue({ label: 'b' })];
    await world.client.revoke({ tokenId: a.token.tokenId });
    const tokenIds = [a.token.tokenId, 'unknown', b.token.tokenId];
    const found = await world.client.list({ tokenIds, search: 'ignored' });
    expect(found.tokens.map(({ label }) => label).toSorted()).toEqual(['a', 'b']);
    await expect(world.client.list({ tokenIds: Array.from({ length: 1_001 }, String) })).rejects.toMatchObject(refused);
  });

  it('has every token on one page alone, whatever is issued between pages', async () => {
    await using world = await openWorld(open);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 7 }),
        fc.array(fc.record({ issued: fc.nat(3), laterMs: fc.nat(1) }), { minLength: 1, maxLength: 6 }),
        async (pageSize, steps) => {
          await world.database.deleteFrom('tokens').execute();
          // Several in one millisecond, so that their ids determine the order.
          for (let n = 0; n < 8; n++) await world.issue({ label: `before ${n}` });
          const before = ids((await world.client.list({})).tokens);
          const seen: string[] = [];
          let pageToken = '';
          for (let n = 0; n === 0 || pageToken !== ''; n++) {
            const page = await world.client.list({ pageSize, pageToken });
            expect(page.tokens.length).toBeLessThanOrEqual(pageSize);
            seen.push(...ids(page.tokens));
            pageToken = page.nextPageToken;
            const { issued = 0, laterMs = 0 } = steps[n] ?? {};
            world.time.advanceMs(laterMs);
            for (let m = 0; m < issued; m++) await world.issue({ label: 'meanwhile' });
          }
          expect(new Set(seen).size).toBe(seen.length);
          expect(seen.filter((id) => before.includes(id))).toEqual(before);
        },
      ),
      { numRuns: 20 },
    );
  });

  it('refuses a page token of something else', async () => {
    await using world = await openWorld(open);
    await expect(world.client.list({ pageToken: '2026-11-20' })).rejects.toMatchObject(refused);
  });
});

async function openWorld(open: (typeof testDatabases)[number]['open']) {
  const opened = await open();
  const { database } = opened;
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const hashKeys = [hashKeyOf(Buffer.alloc(32, 1))];
  const { routes } = createIdentityService({ hashKeys }, { database }, runtime);
  const client = directClientOf(routes, IdentityService);
  type Issue = Parameters<typeof client.issue>[0];
  return {
    ...{ database, time, client },
    issue: async (request: Issue = {}) => {
      const { token, tokenText } = await client.issue({ kind: TokenKind.SERVICE, label: 'ci', ...request });
      return { token: token ?? expect.fail(), tokenText };
    },
    update: async (request: Parameters<typeof client.update>[0]) => (await client.update(request)).token,
    resolve: async (text: string) => (await client.resolve({ tokenSha256: tokenSha256(text) })).token,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

function ids(tokens: readonly Token[]): readonly string[] {
  return tokens.map(({ tokenId }) => tokenId);
}

function endOf(token: Token | undefined): number | undefined {
  return token?.expiresAtMs;
}
