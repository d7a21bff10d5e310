import { readdir, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { DefaultTheme } from 'vitepress';
import { parse } from 'yaml';

/** The pages of a folder, and the folders in it. */
export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
  readonly sections: readonly Section[];
}

export interface Page {
  readonly title: string;
  /** "operate/ports.md" */
  readonly path: string;
  /** "/operate/ports" */
  readonly link: string;
}

interface Folder {
  readonly folder: string;
  readonly title: string;
  readonly folders?: readonly Folder[];
}

/** In the order in which readers need them. */
const folders: readonly Folder[] = [
  { folder: 'quickstart', title: 'Quickstart' },
  { folder: 'operate', title: 'Operate', folders: [{ folder: 'operate/runbooks', title: 'Runbooks' }] },
  { folder: 'reference', title: 'Reference' },
  { folder: 'limiter', title: 'Limiter for your services' },
  { folder: 'develop', title: 'Develop', folders: [{ folder: 'adr', title: 'Decisions' }] },
  { folder: '.', title: 'Glossary' },
];

/**
 * All sections and pages, except the first page. Front matter may give a page an `order`, and a
 * shorter `title` than its heading. The index of a folder comes first; pages without an order come
 * last, sorted by file name. Sections without pages are left out.
 */
export function readSections(docs: string): Promise<readonly Section[]> {
  return sectionsOf(docs, folders);
}

/**
 * Beside the pages of a section, the sidebar shows the whole section. Beside the first page it
 * shows the start of each section.
 */
export function sidebarsOf(sections: readonly Section[]): DefaultTheme.SidebarMulti {
  const ofSections = sections.flatMap((section) =>
    foldersOf(section).map((folder) => [`/${folder}/`, groupsOf(section)]),
  );
  return { ...Object.fromEntries(ofSections), '/': [{ items: startsOf(sections) }] };
}

/** The first page of each section. */
export function startsOf(sections: readonly Section[]) {
  return sections.flatMap((section) => {
    const [first] = section.pages;
    return first === undefined ? [] : [{ text: section.title, link: first.link, activeMatch: activeMatchOf(section) }];
  });
}

function groupsOf({ title, pages, sections }: Section): DefaultTheme.SidebarItem[] {
  const items = pages.map((page) => ({ text: page.title, link: page.link }));
  return [{ text: title, items }, ...sections.flatMap(groupsOf)];
}

function activeMatchOf(section: Section): string {
  return `^/(${foldersOf(section).join('|')})\\b`;
}

/** "develop" and "adr" */
function foldersOf({ pages, sections }: Section): readonly string[] {
  const own = pages.map(({ link }) => link.split('/')[1] ?? '');
  return [...new Set([...own, ...sections.flatMap(foldersOf)])];
}

async function sectionsOf(docs: string, of: readonly Folder[]): Promise<readonly Section[]> {
  const sections = await Promise.all(
    of.map(async ({ folder, title, folders: inner = [] }) => ({
      title,
      pages: await pagesIn(docs, folder),
      sections: await sectionsOf(docs, inner),
    })),
  );
  return sections.filter(({ pages }) => pages.length > 0);
}

async function pagesIn(docs: string, folder: string): Promise<readonly Page[]> {
  const names = await readdir(join(docs, folder)).catch(() => []);
  const paths = names.filter((name) => name.endsWith('.md')).map((name) => posix.join(folder, name));
  const pages = await Promise.all(paths.filter((path) => path !== 'index.md').map((path) => readPage(docs, path)));
  return pages.toSorted((one, other) => one.order - other.order || (one.link < other.link ? -1 : 1));
}

async function readPage(docs: string, path: string): Promise<Page & { readonly order: number }> {
  const text = await readFile(join(docs, path), 'utf8');
  const [, frontMatter = ''] = /^---\n(.*?)\n---\n/s.exec(text) ?? [];
  const { order, title }: { order?: unknown; title?: unknown } = parse(frontMatter) ?? {};
  const [, heading] = /^# (.+)$/m.exec(text) ?? [];
  if (heading === undefined) throw new Error(`docs/${path} needs a first line "# Title".`);
  const link = `/${path.replace(/(?:(?<=\/)(?:index|README))?\.md$/, '')}`;
  const unordered = link.endsWith('/') ? 0 : Number.POSITIVE_INFINITY;
  return {
    title: typeof title === 'string' ? title : heading.replaceAll('`', ''),
    path,
    link,
    order: typeof order === 'number' ? order : unordered,
  };
}
