import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';

/** A Markdown page, with its fenced blocks in order. */
export interface Page {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly blocks: readonly CodeBlock[];
}

/** A fenced block of a page. */
export interface CodeBlock {
  /** The page's path, relative to the root of the repository. */
  readonly page: string;
  /** The line of its opening fence. */
  readonly line: number;
  /** The first word after the fence. Empty: there is none. */
  readonly language: string;
  readonly attributes: Attributes;
  /** Problems in the words after the fence. */
  readonly problems: readonly string[];
  readonly text: string;
}

/** The words after a block's language, which determine how tests treat the block. */
export interface Attributes {
  /** Why the block can't run. */
  readonly noRun?: string;
  /** Runs only where packages may be downloaded: `npm run docs:clients`. */
  readonly clients?: true;
  /** The block is a file of this name in the page's folder; `~` stands for that folder too. */
  readonly file?: string;
  /** The block must fail. */
  readonly fails?: true;
  /** The block is the output of the previous one. */
  readonly output?: true;
}

/** All pages of the repository that have a block. */
export async function readPages(root: string): Promise<readonly Page[]> {
  const patterns = ['*.md', '{deploy,docs,libs,proto,services,test-e2e}/**/*.md'];
  const paths = await Array.fromAsync(glob(patterns, { cwd: root, exclude: isLeftOut }));
  const pages = await Promise.all(
    paths.toSorted().map(async (path) => ({ path, blocks: blocksIn(path, await readFile(join(root, path), 'utf8')) })),
  );
  return pages.filter(({ blocks }) => blocks.length > 0);
}

/** For messages: `docs/index.md:12`. */
export function placeOf({ page, line }: CodeBlock): string {
  return `${page}:${line}`;
}

function isLeftOut(path: string): boolean {
  return path.split('/').some((part) => ['node_modules', 'data', 'dist', '.vitepress'].includes(part));
}

/** The fenced blocks of a text. */
export function blocksIn(page: string, markdown: string): readonly CodeBlock[] {
  const visit = (node: MarkdownNode): readonly CodeBlock[] => {
    if (node.type === 'code') {
      const line = node.position?.start.line ?? 0;
      return [{ page, line, language: node.lang ?? '', ...readInfoString(node.meta ?? ''), text: node.value }];
    }
    return 'children' in node ? node.children.flatMap(visit) : [];
  };
  return visit(fromMarkdown(markdown));
}

type MarkdownRoot = ReturnType<typeof fromMarkdown>;
type MarkdownNode = MarkdownRoot | MarkdownRoot['children'][number];

/** Reads `no-run="needs a cluster"`, `file="hello.ts"` and single words such as `output`. */
function readInfoString(text: string): Pick<CodeBlock, 'attributes' | 'problems'> {
  const problems: string[] = [];
  let attributes: Attributes = {};
  for (const [whole, name = '', value] of text.matchAll(/([^\s="]+)(?:="([^"]*)")?|\S/g)) {
    if (name === 'no-run' && value !== undefined) {
      if (value.trim().split(/\s+/).length < 2) problems.push('no-run says in some words why the block can not be run');
      attributes = { ...attributes, noRun: value };
    } else if (name === 'file' && value) attributes = { ...attributes, file: value };
    else if (/^(?:clients|fails|output)$/.test(name) && value === undefined) {
      attributes = { ...attributes, [name]: true };
    } else problems.push(`${whole} is not known behind a language`);
  }
  return { attributes, problems };
}
