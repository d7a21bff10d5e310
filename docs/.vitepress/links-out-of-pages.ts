import { statSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

type Token = ReturnType<MarkdownRenderer['parse']>[number];

export interface LinkSettings {
  /** The folder of the pages. */
  readonly docs: string;
  /** The base address of the repository's files. */
  readonly repository: string | undefined;
  /** Called with each file inside `docs` that a page links to and that is no page. */
  readonly attach: (path: string) => void;
}

/**
 * Links of pages are relative paths, as Git hosts resolve them. This replaces links that lead to no
 * page of the site.
 */
export function linksOutOfPages(md: MarkdownRenderer, settings: LinkSettings): void {
  md.core.ruler.push('links-out-of-pages', ({ tokens, env }) => {
    // A group title has no page.
    if (env.path === undefined) return;
    const page = relative(settings.docs, env.path);
    for (const { children } of tokens) if (children !== null) mendLinks(children, page, settings);
  });
}

function mendLinks(tokens: Token[], page: string, { docs, repository, attach }: LinkSettings): void {
  for (const [index, token] of tokens.entries()) {
    const href = token.type === 'link_open' ? token.attrGet('href') : null;
    if (href === null || !isRelative(href)) continue;
    const [path = '', anchor] = href.split('#', 2);
    const target = posix.join(posix.dirname(page), decodeURI(path));
    if (target.startsWith('../') || isFolder(join(docs, target)))
      leadOut(tokens, index, { path: posix.join('docs', target), anchor, repository });
    else if (path.endsWith('.md')) token.attrSet('href', href.replace(/(^|\/)README\.md/, '$1index.md'));
    else if (posix.extname(path) !== '') {
      attach(target);
      // The site's router does not handle links with a target.
      token.attrSet('target', '_self');
    }
  }
}

/** A link to a file outside of the site: to the repository's address, or its path as text. */
function leadOut(
  tokens: Token[],
  index: number,
  { path, anchor, repository }: { path: string; anchor: string | undefined; repository: string | undefined },
): void {
  const open = tokens[index];
  const close = tokens.slice(index).find(({ type }) => type === 'link_close');
  if (open === undefined || close === undefined) return;
  if (repository !== undefined) {
    const hash = anchor === undefined ? '' : `#${anchor}`;
    open.attrSet('href', `${repository.replace(/\/$/, '')}/${path}${hash}`);
    return;
  }
  const label = tokens[index + 1]?.content ?? '';
  for (const token of [open, close]) Object.assign(token, { type: 'html_inline', tag: '', attrs: null, content: '' });
  open.content = '<span class="in-repository">';
  close.content = path.endsWith(label) ? '</span>' : ` (<code>${path}</code>)</span>`;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isRelative(href: string): boolean {
  return !/^(?:[a-z][a-z+.-]*:|#|\/)/i.test(href);
}
