import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { othersReport } from '../others/suite.ts';
import { comparedOn, type Row } from './comparison-page.ts';
import { repositoryRoot } from './test-references.ts';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');
const folder = 'docs/reference';
const { tables, sources, definitions } = comparedOn(read(`${folder}/comparison.md`));
const rows = tables.flatMap(({ title, rows: all }) => all.map((row) => ({ title, ...row })));
const cells = rows.flatMap(({ system, cells: all }) => all.map((cell) => ({ system, ...cell })));

describe('docs/reference/comparison.md', () => {
  it('compares the same systems in every table about features and guarantees', () => {
    expect(tables.length).toBeGreaterThan(8);
    const all = Object.keys(letters);
    const whole = tables.filter(({ title }) => !['Conformance', 'Speed'].includes(title));
    expect(whole.map(({ title, rows: each }) => [title, each.map(({ system }) => system)])).toEqual(
      whole.map(({ title }) => [title, all]),
    );
    expect(rows.filter(({ system }) => !all.includes(system))).toEqual([]);
  });

  it('has a source for every cell: of the system itself, or of this repository', () => {
    expect(cells.length).toBeGreaterThan(200);
    const wrong = cells.filter(
      ({ system, text, keys }) =>
        text === '' || keys.length === 0 || keys.some((key) => ![letters[system], 'G'].includes(key[0])),
    );
    expect(wrong).toEqual([]);
  });

  it('says when each source was read, and in which state it was', () => {
    const keys = sources.map(({ key }) => key);
    expect(keys).toEqual([...new Set(keys)]);
    expect([...definitions.keys()].filter((key) => /^[A-Z]\d+$/.test(key))).toEqual(keys);
    const undated = sources.filter(
      ({ what, state, readOn }) => what === '' || state === '' || !isDay(readOn) || dayIn(state) > readOn,
    );
    expect(undated).toEqual([]);
  });

  it('uses every source, and lists every source that it uses', () => {
    const used = new Set(cells.flatMap(({ keys }) => keys));
    expect([...used].toSorted()).toEqual(sources.map(({ key }) => key).toSorted());
  });

  it('links its own sources to files that exist, and files on GitHub at the commit that was read', () => {
    const broken = sources.filter(({ key }) => {
      const url = definitions.get(key) ?? '';
      if (key.startsWith('G')) return !existsSync(join(repositoryRoot, folder, url));
      if (!URL.canParse(url) || !url.startsWith('https://')) return true;
      return /^https:\/\/github\.com\/[^/]+\/[^/]+\/(?:blob|tree)\//.test(url) && !/\/[0-9a-f]{40}\//.test(url);
    });
    expect(broken).toEqual([]);
  });

  it('has the figures of the pages on which this project publishes them', () => {
    const figures = cells.flatMap(({ keys, text }) => {
      const [page] = keys.map((key) => definitions.get(key) ?? '').filter((url) => measured.has(url));
      return page === undefined ? [] : (text.match(/\d[\d,.]*\d|\d/g) ?? []).map((figure) => ({ page, figure }));
    });
    expect(figures.length).toBeGreaterThan(6);
    expect(figures.filter(({ page, figure }) => !measured.get(page)?.includes(figure))).toEqual([]);
  });
});

describe('the reader of the page', () => {
  const page = [
    '## One',
    '| system | a | b |',
    '| --- | --- | --- |',
    '| This gateway | yes [G1] | no |',
    '## Sources',
    '| source | what it is | state | read |',
    '| --- | --- | --- | --- |',
    '| [G1] | a page | 1.0 | 2026-01-01 |',
    '[G1]: page.md',
  ].join('\n');

  it('finds the cells with their sources, and the sources with their dates', () => {
    const own: Row = {
      system: 'This gateway',
      cells: [
        { text: 'yes', keys: ['G1'] },
        { text: 'no', keys: [] },
      ],
    };
    expect(comparedOn(page)).toEqual({
      tables: [{ title: 'One', rows: [own] }],
      sources: [{ key: 'G1', what: 'a page', state: '1.0', readOn: '2026-01-01' }],
      definitions: new Map([['G1', 'page.md']]),
    });
  });
});

/** The systems, in the order of every table, each with the letter of its sources. */
const letters: Readonly<Record<string, string>> = {
  'This gateway': 'G',
  LiteLLM: 'L',
  Bifrost: 'B',
  'Agent Router': 'R',
  agentgateway: 'A',
  Portkey: 'P',
  TensorZero: 'T',
  sub2api: 'S',
  'claude-relay-service': 'C',
};

/** Pages with measured figures, and the figures that readers find there. */
const measured: ReadonlyMap<string, string> = new Map([
  ['conformance.md', read(`${folder}/conformance.md`)],
  ['conformance-others.md', totalsOfOthers()],
  ['../develop/performance.md', read('docs/develop/performance.md')],
]);

function totalsOfOthers(): string {
  const { suites } = othersReport.parse(JSON.parse(read(`${folder}/conformance-others.json`)));
  const total = (count: (suite: (typeof suites)[number]) => number) =>
    suites.reduce((sum, suite) => sum + count(suite), 0);
  const explained = total(({ skipped }) => skipped.reduce((sum, { checks }) => sum + checks.length, 0));
  return `${total(({ kept }) => kept)} kept, ${explained} explained, ${total(({ failed }) => failed.length)} failed`;
}

/** The day that a state names; empty if it names none. */
function dayIn(state: string): string {
  return /\d{4}-\d{2}-\d{2}/.exec(state)?.[0] ?? '';
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}
