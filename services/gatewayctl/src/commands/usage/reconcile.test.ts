import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type ReconcileDayRequest,
  type ReconcileDayResponseSchema,
  UsageService,
} from '@gateway/proto/admin/v1/usage_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../../__fixtures__/command-line.ts';
import { reconcileUsage } from './reconcile.ts';

type Answer = MessageInitShape<typeof ReconcileDayResponseSchema>;

const kept = { eventsKept: true };
const difference = {
  tokenId: 'b',
  provider: 'provider_a',
  model: 'gpt-5.5',
  recorded: { inputTokens: 99 },
  counted: { inputTokens: 10 },
};

function commandLine(answerOf: (request: ReconcileDayRequest) => Answer) {
  const asked: string[] = [];
  const line = new CommandLine((router) =>
    router.service(UsageService, {
      reconcileDay: (request) => {
        asked.push(request.localDay);
        return answerOf(request);
      },
    }),
  );
  return {
    line,
    run: (...args: string[]) =>
      line.run('usage', 'reconcile', ...(args.includes('--to') ? [] : ['--to', '2026-11-20']), ...args),
    asked,
  };
}

describe('gatewayctl usage reconcile', () => {
  it('finds nothing in a ledger that adds up, and reports progress', async () => {
    const { exitCode, printed, notes } = await commandLine(() => ({ ledger: kept })).run();
    expect(exitCode).toBe(0);
    expect(printed).toBe('Ledger: 7 days compared, no differences. Limiter: no differences.\n');
    expect(notes.split('\n')[0]).toBe('2026-11-14 (day 1 of 7)');
    expect(notes.split('\n').at(-1)).toBe('2026-11-20 (day 7 of 7)');
  });

  it('prints differences and exits 1, unless they are repaired with --repair', async () => {
    const { run } = commandLine(({ localDay, repair }) => ({
      ledger:
        localDay === '2026-11-18' ? { ...kept, differences: [difference], differenceCount: 3, repaired: repair } : kept,
    }));
    const found = await run();
    expect(found.exitCode).toBe(1);
    expect(found.lines).toEqual([
      '2026-11-18  token b, provider_a gpt-5.5: input 99 instead of 10',
      '2026-11-18  and 2 more',
      'Ledger: 7 days compared, 3 differences in sums; repair with --repair. Limiter: no differences.',
    ]);
    const repaired = await run('--repair');
    expect(repaired).toMatchObject({ exitCode: 0, printed: expect.stringMatching(/3 sums repaired/) });
  });

  it('prints counters of the limiter that were wrong, and exits 1 when they are wrong again soon after', async () => {
    let wrong = 1;
    const counters = () => (wrong-- > 0 ? [{ tokenId: 't', counterTokens: 10, ledgerTokens: 25 }] : []);
    const { line, asked } = commandLine(() => ({ ledger: kept, counters: counters() }));
    const today = { from: '2026-11-20', to: '2026-11-20' };
    await reconcileUsage(line.connection, today, 1);
    expect(line.terminal.lines[0]).toBe('2026-11-20  token t: the limiter counted 10 instead of 25 tokens');
    expect(line.terminal.lines[1]).toMatch(/Limiter: 1 counter corrected automatically\.$/);
    expect(asked).toEqual(['2026-11-20', '2026-11-20']);
    wrong = 2;
    await expect(reconcileUsage(line.connection, today, 1)).rejects.toThrow('differences remain');
    expect(line.terminal.lines.at(-1)).toMatch(/1 of them differed again shortly after/);
  });

  it('does not fail for days whose events are no longer kept, but when it could compare none', async () => {
    const { run } = commandLine(({ localDay }) => ({ ledger: { eventsKept: localDay >= '2026-11-19' } }));
    expect(await run()).toMatchObject({
      exitCode: 0,
      printed: expect.stringMatching(/2 days compared \(5 more days without stored events\)/),
    });
    expect((await run('--to', '2026-11-18')).exitCode).toBe(1);
  });
});
