import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { othersPage } from '../others/page.ts';
import { type Finding, othersReport, reportOn, type Suite } from '../others/suite.ts';
import { suites } from '../others/suites.ts';
import { repositoryRoot } from './test-references.ts';

const folder = join(repositoryRoot, 'docs/reference');

describe('docs/reference/conformance-others.md', async () => {
  const report = othersReport.parse(JSON.parse(await readFile(join(folder, 'conformance-others.json'), 'utf8')));

  it('agrees with conformance-others.json; `npm run conformance:others -- --page-only` writes it', async () => {
    expect(await readFile(join(folder, 'conformance-others.md'), 'utf8')).toBe(othersPage(report));
  });

  it('has every suite, in the version that the command installs, without a failure', () => {
    expect(report.suites.map(({ name, packages }) => ({ name, packages }))).toEqual(
      suites.map(({ name, packages }) => ({ name, packages })),
    );
    expect(report.suites.flatMap(({ failed }) => failed)).toEqual([]);
  });
});

describe('the report on a suite', () => {
  const suite: Suite = {
    name: 'theirs',
    from: 'npm',
    packages: { theirs: '1.0.0' },
    how: 'It runs.',
    run: async () => [],
    explained: [{ checks: /^input/, found: /^HTTP 400/, why: 'It is a string.' }],
  };
  const kept: Finding = { check: 'chat', outcome: 'kept', found: '' };
  const refused: Finding = { check: 'input', outcome: 'failed', found: 'HTTP 400' };

  it('counts what is kept, and lists what is explained', () => {
    expect(reportOn(suite, [kept, refused])).toMatchObject({
      kept: 1,
      skipped: [{ why: 'It is a string.', checks: ['input'] }],
      failed: [],
    });
  });

  it.each([
    ['a failure for another reason', [kept, refused, { ...refused, found: 'HTTP 500' }], 'HTTP 500'],
    ['a check that the suite skips without an explanation', [refused, { ...kept, outcome: 'skipped' }], ''],
    ['an explanation of a check that is kept', [kept, { ...refused, outcome: 'kept' }], 'It is a string.'],
    ['a suite that runs nothing', [], 'It is a string.'],
  ] as const)('has as failed: %s', (_what, findings: readonly Finding[], found) => {
    expect(reportOn(suite, findings).failed[0]?.found).toBe(found);
  });
});
