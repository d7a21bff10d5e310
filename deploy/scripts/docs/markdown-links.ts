import { posix } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { anchorOf } from './anchors.ts';

type Page = ReturnType<typeof fromMarkdown>;
type Node = Page | Page['children'][number];

/**
 * A link or picture of a page, with a path relative to the page, or an anchor of the page itself.
 */
export interface PageLink {
  readonly page: string;
  readonly line: number;
  /** The link as it is written. */
  readonly url: string;
  /** The file, from the root of the repository. */
  readonly path: string;
  /** Undefined for the whole file. */
  readonly anchor: string | undefined;
}

/** The links of a page into the repository. */
export function linksOf(page: string, text: string): readonly PageLink[] {
  return nodesOf(text).flatMap((node) => {
    if (node.type !== 'link' && node.type !== 'image' && node.type !== 'definition') return [];
    const { url, position } = node;
    if (/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(url)) return [];
    const [target = '', anchor] = url.split('#', 2);
    const path = target === '' ? page : posix.join(posix.dirname(page), decodeURI(target));
    return [{ page, line: position?.start.line ?? 0, url, path, anchor }];
  });
}

/** The anchors of a page's headings, as GitHub and the site make them. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const node of nodesOf(text)) {
    if (node.type !== 'heading') continue;
    const anchor = anchorOf(textOf(node));
    let free = anchor;
    for (let count = 1; anchors.has(free); count++) free = `${anchor}-${count}`;
    anchors.add(free);
  }
  return anchors;
}

function nodesOf(text: string): readonly Node[] {
  const below = (node: Node): readonly Node[] => ['children' in node ? node.children.flatMap(below) : [], node].flat();
  return below(fromMarkdown(text));
}

function textOf(node: Node): string {
  if ('value' in node) return node.value;
  return 'children' in node ? node.children.map(textOf).join('') : '';
}
