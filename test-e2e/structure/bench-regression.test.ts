import { describe, expect, it } from 'vitest';
import { benchCases } from '../bench/bench-cases.ts';
import { compareRatios } from '../bench/regression/compare-ratios.ts';
import { type RecordedRatios, readRecordedRatios, watchedSystems } from '../bench/regression/recorded-ratios.ts';
import type { Row } from '../bench/report/results.ts';

describe('the short bench', () => {
  const row = (name: string, system: Row['system'], ratio: number | undefined) => ({
    case: name,
    system,
    timesNginx: ratio === undefined ? undefined : { median: ratio, least: ratio, most: ratio },
  });
  const recorded: RecordedRatios = { 'messages-1k': { 'all-in-one': 10, services: 40 } };

  it('has a recorded ratio of every case and system that it measures', async () => {
    const ratios = await readRecordedRatios();
    const names = benchCases.filter(({ isShort }) => isShort).map(({ name }) => name);
    expect(Object.keys(ratios).toSorted()).toEqual(names.toSorted());
    for (const bySystem of Object.values(ratios)) expect(Object.keys(bySystem)).toEqual([...watchedSystems]);
  });

  it('takes no round for a regression that others on the machine made dear, while another was not', () => {
    const timesNginx = { median: 75, least: 30, most: 120 };
    const { lines, regressions } = compareRatios([{ case: 'messages-1k', system: 'services', timesNginx }], recorded);
    expect(lines).toEqual([expect.stringContaining('30 × nginx')]);
    expect(regressions).toEqual([]);
  });

  it('tells of a ratio that is far beyond the recorded one, and of no other', () => {
    const rows = [row('messages-1k', 'all-in-one', 24.9), row('messages-1k', 'services', 101)];
    const { lines, regressions } = compareRatios(rows, recorded);
    expect(lines).toHaveLength(2);
    expect(regressions).toEqual(['messages-1k, services: 101 × nginx, recorded 40 ×: more than 2.5 times that']);
  });

  it('finds nothing wrong where nginx could not be had, and says so', () => {
    const { lines, regressions } = compareRatios([row('messages-1k', 'all-in-one', undefined)], recorded);
    expect(lines.join()).toContain('nginx could not be measured');
    expect(regressions).toEqual([]);
  });

  it('passes over what was not recorded, or not measured', () => {
    expect(compareRatios([row('other', 'services', 999)], recorded)).toEqual({ lines: [], regressions: [] });
  });
});
