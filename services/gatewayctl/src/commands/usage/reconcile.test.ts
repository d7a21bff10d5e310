import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import {
  type LimiterOperatorService,
  type ReconcileDayRequest,
  ReconcileDayResponseSchema,
} from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { openUsageWorld, unimplemented, usageEvent } from './__fixtures__/usage-world.ts';
import { reconcileUsage } from './reconcile.ts';

const clock = new ManualClock(Date.parse('2026-11-20T10:00:00Z'));

describe('gatewayctl usage reconcile', () => {
  it('finds nothing in a ledger that adds up, and reports progress', async () => {
    await using world = await openUsageWorld();
    await world.record(usageEvent('a', '2026-11-19'), usageEvent('a', '2026-11-20'));
    const result = await reconcileUsage(world.plane, {}, clock);
    expect(result).toEqual({ differencesLeft: false, notCompared: false });
    expect(world.terminal.lines).toHaveLength(1);
    expect(world.terminal.printed).toMatch(/7 days compared, no differences\. Limiter: not asked, no gateway runs/);
    expect(world.terminal.notes[0]).toBe('2026-11-14 (day 1 of 7)');
    expect(world.terminal.notes.at(-1)).toBe('2026-11-20 (day 7 of 7)');
  });

  it('finds planted differences and leaves them, until --repair is given', async () => {
    await using world = await openUsageWorld();
    await world.record(usageEvent('a', '2026-11-18'), usageEvent('b', '2026-11-18'));
    await world.database.updateTable('usage_daily').set({ input_tokens: 99 }).where('token_id', '=', 'b').execute();
    const check = (repair: boolean) =>
      reconcileUsage(world.plane, { from: '2026-11-17', to: '2026-11-18', repair }, clock);
    expect(await check(false)).toEqual({ differencesLeft: true, notCompared: false });
    expect(world.terminal.lines[0]).toBe('2026-11-18  token b, provider_a gpt-5.5: input 99 instead of 10');
    expect(world.terminal.lines.at(-1)).toMatch(/1 sums differ: mend them with --repair/);
    expect(await check(false)).toEqual({ differencesLeft: true, notCompared: false });
    expect(await check(true)).toEqual({ differencesLeft: false, notCompared: false });
    expect(world.terminal.lines.at(-1)).toMatch(/1 sums mended/);
    expect(await check(false)).toEqual({ differencesLeft: false, notCompared: false });
    expect(world.terminal.lines.at(-1)).toMatch(/no differences/);
  });

  it("has the limiter compare today's and yesterday's counters of service tokens", async () => {
    await using world = await openUsageWorld();
    const issue = async (kind: TokenKind) => {
      const { token } = await world.plane.identity.issue({ kind, label: 'x' });
      return token?.tokenId ?? '';
    };
    const service = await issue(TokenKind.SERVICE);
    await issue(TokenKind.PERSONAL);
    let counted = 10n;
    const { limiter, asked } = answeringLimiter(({ localDay }) => {
      if (localDay === '2026-11-20') return { usedTokensAfter: 7n };
      const usedTokensBefore = counted;
      counted = 25n;
      return { usedTokensBefore, usedTokensAfter: 25n, pendingTokens: 5n };
    });
    const flags = { from: '2026-11-10', to: '2026-11-21' };
    const result = await reconcileUsage({ ...world.plane, limiter }, flags, clock, 1);
    const yesterday = `token:${service} 2026-11-19`;
    expect(asked).toEqual([`token:${service} 2026-11-20`, yesterday, yesterday]);
    expect(world.terminal.lines[0]).toContain(`token ${service}: the limiter had counted 10 tokens instead of 25, 5`);
    expect(world.terminal.lines.at(-1)).toMatch(
      /Limiter: 1 counters of 2026-11-20 compared, 1 counters of 2026-11-19 compared, 1 mended by itself\.$/,
    );
    // The limiter mended it: nothing is left to do.
    expect(result).toEqual({ differencesLeft: false, notCompared: false });
  });

  it("compares today's counters though the limiter does not count yesterday any more", async () => {
    await using world = await openUsageWorld();
    await world.plane.identity.issue({ kind: TokenKind.SERVICE, label: 'x' });
    const { limiter } = answeringLimiter(({ localDay }) => {
      if (localDay === '2026-11-20') return { usedTokensBefore: 15n, usedTokensAfter: 15n };
      throw new GatewayError('invalid_request', 'local_day must be today or the day before.');
    });
    const result = await reconcileUsage({ ...world.plane, limiter }, {}, clock);
    expect(result).toEqual({ differencesLeft: false, notCompared: false });
    expect(world.terminal.lines.at(-1)).toMatch(
      /Limiter: 1 counters of 2026-11-20 compared, 2026-11-19 is no longer counted, no differences\.$/,
    );
  });

  it('finds a counter that is wrong again soon after it was mended', async () => {
    await using world = await openUsageWorld();
    await world.plane.identity.issue({ kind: TokenKind.SERVICE, label: 'x' });
    const { limiter } = answeringLimiter(() => ({ usedTokensBefore: 15n, usedTokensAfter: 20n }));
    const flags = { from: '2026-11-20' };
    const result = await reconcileUsage({ ...world.plane, limiter }, flags, clock, 1);
    expect(result).toEqual({ differencesLeft: true, notCompared: false });
    expect(world.terminal.lines.at(-1)).toMatch(/1 mended by itself, of which 1 differed again soon after/);
  });

  it('fails when there may be counters and none could be compared', async () => {
    await using world = await openUsageWorld();
    await world.plane.identity.issue({ kind: TokenKind.SERVICE, label: 'x' });
    const unlisted = { identity: { ...world.plane.identity, list: unimplemented } };
    const { limiter } = answeringLimiter(() => ({ usedTokensAfter: 7n }));
    for (const [more, says] of [
      [{ countersMayExist: true }, /NOT compared: none is known\. Name its admin address with --limiter/],
      [
        { limiter, ...unlisted },
        /NOT compared: .* can not list tokens\. Name identity's admin address with --identity/,
      ],
    ] as const) {
      const result = await reconcileUsage({ ...world.plane, ...more }, {}, clock);
      expect(result).toEqual({ differencesLeft: false, notCompared: true });
      expect(world.terminal.lines.at(-1)).toMatch(says);
    }
  });

  it('says that the limiter was not asked when it can not be, and fails', async () => {
    await using world = await openUsageWorld();
    await world.plane.identity.issue({ kind: TokenKind.SERVICE, label: 'x' });
    const says = async (limiter: Client<typeof LimiterOperatorService>, flags = {}) => {
      const { notCompared } = await reconcileUsage({ ...world.plane, limiter }, flags, clock);
      return `${notCompared} ${world.terminal.lines.at(-1)}`;
    };
    expect(await says({ reconcileDay: unimplemented })).toMatch(/^true .*NOT compared: that address does not serve it/);
    const away = () => Promise.reject(new RpcError('unavailable', 'connection refused'));
    expect(await says({ reconcileDay: away })).toMatch(/^true .*not asked to the end \(connection refused\)/);
    expect(await says({ reconcileDay: away }, { to: '2026-11-18' })).toMatch(
      /^false .*not asked, it counts today and yesterday/,
    );
  });

  it('does not fail for days whose events are no longer kept', async () => {
    await using world = await openUsageWorld();
    await world.database
      .insertInto('usage_retention')
      .values({ table_name: 'usage_events', first_day: '2026-11-19' })
      .execute();
    const reconciled = { differencesLeft: false, notCompared: false };
    expect(await reconcileUsage(world.plane, {}, clock)).toEqual(reconciled);
    expect(world.terminal.printed).toMatch(/2 days compared \(5 more are older than their events are kept\)/);
    const tooOld = { to: '2026-11-18' };
    expect(await reconcileUsage(world.plane, tooOld, clock)).toMatchObject({ notCompared: true });
  });
});

function answeringLimiter(answer: (request: ReconcileDayRequest) => Partial<Answer>) {
  const asked: string[] = [];
  const limiter: Client<typeof LimiterOperatorService> = {
    async reconcileDay({ key = '', localDay = '' }) {
      asked.push(`${key} ${localDay}`);
      const fields = answer({ $typeName: 'gateway.limiter.v1.ReconcileDayRequest', key, localDay });
      return create(ReconcileDayResponseSchema, fields);
    },
  };
  return { limiter, asked };
}

interface Answer {
  readonly usedTokensBefore: bigint;
  readonly usedTokensAfter: bigint;
  readonly pendingTokens: bigint;
}
