import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The sections of the changelog in their order, as in Keep a Changelog. */
export const changelogSections = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'] as const;

/** A file of `.changeset`, which describes unreleased changes. */
export interface Changeset {
  readonly file: string;
  /** Lists of entries, by section. */
  readonly entries: ReadonlyMap<string, string>;
}

/** @throws Error that names the file and its problem. */
export async function readChangesets(root: string): Promise<readonly Changeset[]> {
  const files = await Array.fromAsync(glob('.changeset/*.md', { cwd: root }));
  return Promise.all(
    files.toSorted().map(async (file) => parseChangeset(file, await readFile(join(root, file), 'utf8'))),
  );
}

/** @throws Error that names the file and its problem. */
export function parseChangeset(file: string, text: string): Changeset {
  const [, body = ''] = /^---\n(?:["'][^\n]+: (?:major|minor|patch)\n)+---\n(.*)$/s.exec(text) ?? [];
  const [before = '', ...sections] = `\n${body}`.split('\n### ');
  if (before.trim() !== '' || sections.length === 0) {
    throw new Error(`${file}: a changeset names packages, then a section such as "### Fixed", then its entries.`);
  }
  const entries = sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    const list = lines.join('\n').trim();
    if (!isSection(title)) {
      throw new Error(`${file}: "${title}" is none of the sections ${changelogSections.join(', ')}.`);
    }
    if (!list.startsWith('- ')) throw new Error(`${file}: entries of "${title}" begin with "- ".`);
    return [title, list] as const;
  });
  return { file, entries: new Map(entries) };
}

/** The changelog with the entries of all changesets as its newest version. */
export function changelogWith(
  changelog: string,
  changesets: readonly Changeset[],
  version: string,
  day: string,
): string {
  const sections = changelogSections.flatMap((title) => {
    const lists = changesets.flatMap(({ entries }) => entries.get(title) ?? []);
    return lists.length === 0 ? [] : [`### ${title}\n\n${lists.join('\n')}`];
  });
  const release = [`## [${version}] - ${day}`, ...sections].join('\n\n');
  return changelog.replace(/^## \[/m, () => `${release}\n\n## [`);
}

function isSection(title: string): boolean {
  return changelogSections.some((section) => section === title);
}
