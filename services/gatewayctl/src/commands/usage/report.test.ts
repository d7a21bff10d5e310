import { describe, expect, it, vi } from 'vitest';
import { RememberingTerminal } from '../../__fixtures__/remembering-terminal.ts';
import { reportUsage } from '../usage.ts';
import { openUsageWorld, unimplemented, usageEvent } from './__fixtures__/usage-world.ts';

const november = { from: '2026-11-01', to: '2026-11-30' };

describe('gatewayctl usage report', () => {
  it('prints a table with a total', async () => {
    await using world = await openUsageWorld();
    await world.record(usageEvent('a', '2026-11-02'), usageEvent('b', '2026-11-02'), usageEvent('b', '2026-11-03'));
    await reportUsage(world.plane, { ...november, by: 'day', format: 'table' });
    expect(world.terminal.lines.map((line) => line.split(/\s+/))).toEqual([
      ['day', 'requests', 'inputTokens', 'cachedTokens', 'outputTokens', 'totalTokens'],
      ['2026-11-02', '2', '20', '8', '10', '30'],
      ['2026-11-03', '1', '10', '4', '5', '15'],
      ['total', '3', '30', '12', '15', '45'],
    ]);
  });

  it('prints nothing but rows for programs', async () => {
    await using world = await openUsageWorld();
    await world.record(usageEvent('a', '2026-11-02'), usageEvent('b', '2026-11-02', 'm,1'));
    await reportUsage(world.plane, { ...november, by: 'model', format: 'csv' });
    expect(world.terminal.printed.split('\r\n')).toEqual([
      'provider,model,requests,inputTokens,cachedTokens,outputTokens,totalTokens',
      'provider_a,gpt-5.5,1,10,4,5,15',
      'provider_a,"m,1",1,10,4,5,15',
      '',
    ]);
    const json = new RememberingTerminal();
    await reportUsage(world.plane, { ...november, token: 'b', by: 'token', format: 'json' });
    expect(json.lines.map((line) => JSON.parse(line))).toEqual([
      { token: 'b', requests: 1, inputTokens: 10, cachedTokens: 4, outputTokens: 5, totalTokens: 15 },
    ]);
    expect(json.notes).toEqual([]);
  });

  it('prints many tokens page by page, each once', async () => {
    await using world = await openUsageWorld();
    const tokens = Array.from({ length: 2_500 }, (_, index) => `t${String(index).padStart(4, '0')}`);
    await world.record(...tokens.map((token) => usageEvent(token, '2026-11-02')));
    const pieces: number[] = [];
    vi.mocked(process.stdout.write).mockImplementation((text) => {
      pieces.push(String(text).split('\n').length - 1);
      return true;
    });
    await reportUsage(world.plane, { ...november, by: 'token', format: 'json' });
    expect(pieces.reduce((sum, lines) => sum + lines, 0)).toBe(2_500);
    expect(Math.max(...pieces)).toBeLessThanOrEqual(1_000);
  });

  it('says what to do when the address does not serve it, or the days are the wrong way round', async () => {
    await using world = await openUsageWorld();
    const flags = { ...november, by: 'day', format: 'table' } as const;
    const elsewhere = {
      report: {
        reportUsage: unimplemented,
        listRequests: () => Promise.reject(new Error('not expected here')),
        findRequest: unimplemented,
      },
    };
    await expect(reportUsage(elsewhere, flags)).rejects.toThrow(/admin port of usage-query/);
    const backwards = reportUsage(world.plane, { ...flags, to: '2026-10-31' });
    await expect(backwards).rejects.toThrow(/--to is before --from/);
  });
});
