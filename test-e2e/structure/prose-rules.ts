import { riddles } from './prose-words.ts';
import type { Violation } from './source-tree.ts';

/** Checks a page against docs/develop/writing.md: its phrases, its sentences and its lines. */
export function unclearProse(file: string, markdown: string): readonly Violation[] {
  return piecesOf(markdown).flatMap((piece) => [...longLines(file, piece), ...unclearWords(file, piece)]);
}

/**
 * A paragraph, a list item, a heading or a table row. Fenced code and the addresses of links are
 * no pieces.
 */
export interface Piece {
  /** The number of its first line, from 1. */
  readonly line: number;
  readonly lines: readonly string[];
  /** Only `text` has limits for lines and sentences: rows and headings can't be wrapped. */
  readonly kind: 'text' | 'heading' | 'row';
}

/** The pieces of a page, without its front matter. */
export function piecesOf(markdown: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let fence: string | undefined;
  let open: string[] | undefined;
  const lines = markdown.split('\n');
  for (const [index, text] of lines.entries()) {
    if (index <= endOfFrontMatter(lines)) continue;
    const mark = /^\s*(`{3,}|~{3,})/.exec(text)?.[1];
    if (fence === undefined ? mark !== undefined : mark === fence) {
      fence = fence === undefined ? mark : undefined;
      open = undefined;
    } else if (fence !== undefined || text.trim() === '' || /^\s*</.test(text) || linkTarget.test(text)) {
      open = undefined;
    } else if (/^\s*\||^#/.test(text)) {
      pieces.push({ line: index + 1, lines: [text], kind: text.startsWith('#') ? 'heading' : 'row' });
      open = undefined;
    } else if (open === undefined || /^\s*(?:[-*]|\d+\.)\s/.test(text)) {
      open = [text];
      pieces.push({ line: index + 1, lines: open, kind: 'text' });
    } else {
      open.push(text);
    }
  }
  return pieces;
}

/** `[name]: address`, which readers do not see. */
const linkTarget = /^\[[^\]]+\]: \S+$/;

function endOfFrontMatter(lines: readonly string[]): number {
  return lines[0] === '---' ? lines.indexOf('---', 1) : -1;
}

const longestLine = 120;
const mostWords = 35;

function longLines(file: string, { line, lines, kind }: Piece): readonly Violation[] {
  if (kind !== 'text') return [];
  return lines.flatMap((text, index) => {
    // A single word, a link or code may be longer.
    if (text.length <= longestLine || !breakable.test(text.replaceAll(code, 'code'))) return [];
    return [{ file: `${file}:${line + index}`, problem: `has ${text.length} characters; at most ${longestLine}` }];
  });
}

const breakable = /^\s*\S+\s.*\s\S/;
const code = /(`+)(?!`).*?(?<!`)\1(?!`)/g;

function unclearWords(file: string, { line, lines, kind }: Piece): readonly Violation[] {
  const text = wordsOf(lines.join(' '));
  const sentences = kind === 'text' ? sentencesOf(text) : [];
  const long = sentences.filter((sentence) => sentence.split(' ').length > mostWords);
  const problems = [
    ...phrasesIn(text),
    ...long.map((sentence) => `has a sentence of more than ${mostWords} words: "${sentence.slice(0, 60)}…"`),
  ];
  return problems.map((problem) => ({ file: `${file}:${line}`, problem }));
}

/** The phrases of the list in a text, each as the problem that it is. */
export function phrasesIn(text: string): readonly string[] {
  const words = wordsOf(text);
  return riddles.flatMap(({ phrase, instead }) => {
    const found = phrase.exec(words)?.[0];
    return found === undefined ? [] : [`says "${found.trim()}"; write ${instead}`];
  });
}

/** The text without markup: code counts as one word, and a link as its text. */
export function wordsOf(text: string): string {
  return text
    .replaceAll(code, 'code')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:[-*]|\d+\.|#+|\|)\s+/, '')
    .replaceAll(/[*_]{2}/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function sentencesOf(text: string): readonly string[] {
  return text.split(/(?<=[.!?][)"”]?) (?=[("“A-Z0-9_]|code)/);
}
