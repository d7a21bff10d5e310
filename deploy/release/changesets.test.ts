import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { changelogWith, parseChangeset, readChangesets } from './changesets.ts';

const changeset = (body: string) => parseChangeset('a.md', `---\n"@gateway/edge-router": patch\n---\n${body}`);

describe('a changeset', () => {
  it('has entries in the sections of the changelog', () => {
    const { entries } = changeset('\n### Added\n\n- One.\n- Two\n  lines.\n\n### Fixed\n\n- Three.\n');
    expect([...entries]).toEqual([
      ['Added', '- One.\n- Two\n  lines.'],
      ['Fixed', '- Three.'],
    ]);
  });

  it.each([
    ['Fixed a thing.\n', 'names packages, then a section'],
    ['\nA thing.\n\n### Fixed\n\n- One.\n', 'names packages, then a section'],
    ['\n### Mended\n\n- One.\n', '"Mended" is none of the sections'],
    ['\n### Fixed\n\nOne.\n', 'entries of "Fixed" begin with "- "'],
    ['\n### Fixed\n', 'entries of "Fixed" begin with "- "'],
  ])('is refused with the text %j', (body, problem) => {
    expect(() => changeset(body)).toThrow(`a.md: `);
    expect(() => changeset(body)).toThrow(problem);
  });

  it('is refused without the packages that it is about', () => {
    expect(() => parseChangeset('a.md', '### Fixed\n\n- One.\n')).toThrow('names packages');
  });

  it('is right in each file of the repository', async () => {
    await expect(readChangesets(join(import.meta.dirname, '../..'))).resolves.toBeDefined();
  });
});

describe('the changelog of a release', () => {
  it('gathers entries by section, above those of earlier versions', () => {
    const changesets = [
      changeset('\n### Fixed\n\n- One $& only.\n'),
      changeset('\n### Added\n\n- Two.\n\n### Fixed\n\n- Three.\n'),
    ];
    expect(changelogWith('# Changelog\n\nText.\n\n## [0.1.0]\n\nFirst.\n', changesets, '0.2.0', '2026-12-01')).toBe(
      `# Changelog

Text.

## [0.2.0] - 2026-12-01

### Added

- Two.

### Fixed

- One $& only.
- Three.

## [0.1.0]

First.
`,
    );
  });
});
