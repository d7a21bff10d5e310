import type { Attributes } from './info-string.ts';

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

/** For messages: `docs/index.md:12`. */
export function placeOf({ page, line }: CodeBlock): string {
  return `${page}:${line}`;
}
