import { parseSync } from 'rolldown/utils';
import { phrasesIn } from './prose-rules.ts';
import type { Violation } from './source-tree.ts';

/** Checks a source's comments against docs/develop/writing.md: their phrases and their lines. */
export function unclearComments(file: string, source: string): readonly Violation[] {
  return commentsOf(file, source).flatMap((comment) => [...longLines(file, comment), ...unclearWords(file, comment)]);
}

/** A block comment, or the line comments directly below each other. */
interface Comment {
  /** The number of its first line, from 1. */
  readonly line: number;
  /** The whole lines of the source, with the code before and after the comment. */
  readonly lines: readonly string[];
  readonly text: string;
}

const longestLine = 100;

function longLines(file: string, { line, lines }: Comment): readonly Violation[] {
  return lines.flatMap((text, index) => {
    // A single word, such as an address, may be longer.
    if (text.length <= longestLine || !/\s/.test(text.replaceAll(marks, ''))) return [];
    return [{ file: `${file}:${line + index}`, problem: `has ${text.length} characters; at most ${longestLine}` }];
  });
}

/** The marks of a comment at both ends of its line, and a tag. */
const marks = /^\s*(?:\/\*\*?|\/\/|\*)?\s*(?:@\w+\s)?|\s*\*\/$/g;

function unclearWords(file: string, { line, text }: Comment): readonly Violation[] {
  return phrasesIn(text).map((problem) => ({ file: `${file}:${line}`, problem }));
}

function commentsOf(file: string, source: string): readonly Comment[] {
  const lines = source.split('\n');
  const comments: { type: string; line: number; lastLine: number; text: string }[] = [];
  for (const { type, value, start, end } of parseSync(file, source).comments) {
    const line = lineAt(source, start);
    const text = value.replaceAll(/^\s*\*+/gm, ' ');
    const above = comments.at(-1);
    if (type === 'Line' && above?.type === 'Line' && above.lastLine === line - 1) {
      above.lastLine = line;
      above.text += ` ${text}`;
    } else {
      comments.push({ type, line, lastLine: lineAt(source, end), text });
    }
  }
  return comments.map(({ line, lastLine, text }) => ({ line, lines: lines.slice(line - 1, lastLine), text }));
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length;
}
