import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { conformancePage } from '../peers/page.ts';
import { type PeersReport, peersReport, type SystemReport } from '../peers/report.ts';
import { repositoryRoot } from './test-references.ts';

const folder = join(repositoryRoot, 'docs/reference');

describe('docs/reference/conformance.md', () => {
  it('agrees with conformance.json; `npm run conformance:peers -- --page-only` writes it', async () => {
    const report = peersReport.parse(JSON.parse(await readFile(join(folder, 'conformance.json'), 'utf8')));
    expect(await readFile(join(folder, 'conformance.md'), 'utf8')).toBe(conformancePage(report));
  });

  it('has a line for each endpoint and level that was checked, and a dash for systems without it', () => {
    const page = conformancePage(reportOf(ours, theirs));
    expect(tableOf(page)).toEqual([
      '| endpoint | level | ours 1.0.0 | theirs 2.0.0 |',
      '| --- | --- | --- | --- |',
      '| chat | formats | 50 of 50 | 40 of 44 |',
      '| chat | operations | 8 of 8 | – |',
      '| messages | formats | 30 of 30 | – |',
      '| **all** |  | **88 of 88** | **40 of 44** |',
    ]);
  });

  it('names each broken rule with its source and the actual result, as text', () => {
    expect(conformancePage(reportOf(ours, theirs))).toContain(
      '- `chat-gzip-body`: A body in `gzip` is taken. ([source](https://example.org/rule)) Found: it is \\<500\\>\n',
    );
  });

  it('says why rules were skipped, and which systems were left out', () => {
    const page = conformancePage(reportOf(theirs));
    expect(page).toContain('- because there is no limit: `chat-limit`, `chat-wait`\n');
    expect(page).toContain('- `other` 3.0.0. It needs a browser.\n');
  });
});

const tableOf = (page: string) => page.split('\n').filter((line) => line.startsWith('|'));

const common = {
  setUp: [],
  claims: [],
  startCommand: 'start',
  conformanceCommands: ['check'],
  broken: [],
  skipped: [],
};

const ours: SystemReport = {
  ...common,
  name: 'ours',
  package: null,
  version: '1.0.0',
  rows: [
    { endpoint: 'chat', level: 'formats', kept: 50, broken: 0, skipped: 0 },
    { endpoint: 'chat', level: 'operations', kept: 8, broken: 0, skipped: 0 },
    { endpoint: 'messages', level: 'formats', kept: 30, broken: 0, skipped: 0 },
  ],
};

const theirs: SystemReport = {
  ...common,
  name: 'theirs',
  package: '@them/theirs',
  version: '2.0.0',
  rows: [
    { endpoint: 'chat', level: 'formats', kept: 40, broken: 4, skipped: 2 },
    { endpoint: 'chat', level: 'operations', kept: 0, broken: 0, skipped: 9 },
  ],
  broken: [
    {
      check: 'chat-gzip-body',
      rule: 'A body in `gzip` is taken.',
      source: 'https://example.org/rule',
      found: 'it is <500>',
    },
  ],
  skipped: [{ why: 'there is no limit', checks: ['chat-limit', 'chat-wait'] }],
};

function reportOf(...systems: SystemReport[]): PeersReport {
  const leftOut = [{ name: 'other', version: '3.0.0', why: 'It needs a browser.' }];
  return { date: '2026-11-23', command: 'npm run conformance:peers', node: '26.10.0', systems, leftOut };
}
