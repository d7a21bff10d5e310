import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsOf, linksOf, type PageLink } from './markdown-links.ts';
import { readSections, type Section } from './sections.ts';

const repositoryRoot = join(import.meta.dirname, '../../..');

const pages = globSync(['*.md', '{docs,proto,libs,services,deploy,test-e2e}/**/*.md'], {
  cwd: repositoryRoot,
  exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
});
const texts = new Map(pages.map((page) => [page, readFileSync(join(repositoryRoot, page), 'utf8')]));
const links = [...texts].flatMap(([page, text]) => linksOf(page, text));

describe('a link of a page', () => {
  it('is found', () => {
    expect(pages.length).toBeGreaterThan(80);
    expect(links.length).toBeGreaterThan(400);
  });

  it('leads to a file that is there', () => {
    expect(links.filter(({ path }) => !existsSync(join(repositoryRoot, path))).map(placeOf)).toEqual([]);
  });

  it('leads to a heading that is there', () => {
    const anchors = new Map([...texts].map(([page, text]) => [page, anchorsOf(text)]));
    const toHeadings = links.filter(({ anchor, path }) => anchor !== undefined && path.endsWith('.md'));
    expect(toHeadings.length).toBeGreaterThan(50);
    expect(toHeadings.filter(({ path, anchor = '' }) => !anchors.get(path)?.has(anchor)).map(placeOf)).toEqual([]);
  });

  it('names a page of the docs as a file, as a folder has no page on the site', () => {
    const folders = new Set(pages.map((page) => posix.dirname(page)));
    expect(
      links.filter(({ page, path }) => page.startsWith('docs/') && folders.has(path.replace(/\/$/, ''))).map(placeOf),
    ).toEqual([]);
  });
});

describe('a page of the docs', () => {
  const ofDocs = pages.filter((page) => page.startsWith('docs/'));

  it('is in the sidebar, but for the first one', async () => {
    const inSidebar = (await readSections(join(repositoryRoot, 'docs'))).flatMap(pathsIn);
    expect(ofDocs.filter((page) => !inSidebar.includes(page))).toEqual(['docs/index.md']);
  });

  it('has one title', () => {
    const titles = (page: string) =>
      texts
        .get(page)
        ?.replaceAll(/^```.*?^```/gms, '')
        .match(/^# /gm) ?? [];
    expect(ofDocs.filter((page) => titles(page).length !== 1)).toEqual([]);
  });

  it('is named by the first one, if it is a quickstart', () => {
    const named = links.filter(({ page }) => page === 'docs/index.md').map(({ path }) => path);
    const quickstarts = ofDocs.filter((page) => /^docs\/quickstart\/(?!index)/.test(page));
    expect(quickstarts.filter((page) => !named.includes(page))).toEqual([]);
  });
});

function placeOf({ page, line, url }: PageLink): string {
  return `${page}:${line}: ${url}`;
}

function pathsIn({ pages: own, sections }: Section): readonly string[] {
  return [...own.map(({ path }) => `docs/${path}`), ...sections.flatMap(pathsIn)];
}
