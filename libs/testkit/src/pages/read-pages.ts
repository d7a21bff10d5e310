import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';
import type { CodeBlock } from './code-block.ts';
import { readInfoString } from './info-string.ts';

/** A page of Markdown, and the fenced blocks on it from its top down. */
export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly blocks: readonly CodeBlock[];
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

function isLeftOut(path: string): boolean {
  return path.split('/').some((part) => ['node_modules', 'data', 'dist', '.vitepress'].includes(part));
}

/** The fenced blocks of a text. */
export function blocksIn(page: string, markdown: string): readonly CodeBlock[] {
  const visit = (node: MarkdownNode): readonly CodeBlock[] => {
    if (node.type === 'code') {
      const { attributes, problems } = readInfoString(node.meta ?? '');
      const line = node.position?.start.line ?? 0;
      return [{ page, line, language: node.lang ?? '', attributes, problems, text: node.value }];
    }
    return 'children' in node ? node.children.flatMap(visit) : [];
  };
  return visit(fromMarkdown(markdown));
}

type MarkdownRoot = ReturnType<typeof fromMarkdown>;
type MarkdownNode = MarkdownRoot | MarkdownRoot['children'][number];
