import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';

/** A page of Markdown, and the fenced blocks on it from its top down. */
export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly blocks: readonly CodeBlock[];
}

/** A fenced block of a page. */
export interface CodeBlock {
  /** The page's path from the root of the repository. */
  readonly page: string;
  /** Where its fence begins. */
  readonly line: number;
  /** First word behind the fence. Empty: there is none. */
  readonly language: string;
  readonly attributes: Attributes;
  /** What is wrong with the words behind the fence. */
  readonly problems: readonly string[];
  readonly text: string;
}

/** What stands behind a block's language, and says how tests treat the block. */
export interface Attributes {
  /** Why the block can't be run. */
  readonly noRun?: string;
  /** Runs only where packages may be downloaded: `npm run docs:clients`. */
  readonly clients?: true;
  /** The block is a file of this name in the page's folder; `~` is that folder too. */
  readonly file?: string;
  /** The block must end with an error. */
  readonly fails?: true;
  /** The block is what the one before it prints. */
  readonly output?: true;
}

/** Every page of the repository that has a block. */
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
