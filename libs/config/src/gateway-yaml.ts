import { type Document, isScalar, LineCounter, parseDocument, visit, type YAMLMap } from 'yaml';
import { ConfigError } from './env-reader.ts';

/**
 * Parses a text as a YAML document and as data, in time linear in its length.
 * @throws one ConfigError with every problem, by line and column; no problem repeats a line of the
 *   text.
 * @param options.mergeKeys whether `<<` takes over the members of another map, as in YAML 1.1.
 */
export function parseYaml(
  text: string,
  path: string,
  { mergeKeys = false }: { readonly mergeKeys?: boolean } = {},
): { readonly document: Document.Parsed; readonly value: unknown } {
  const tooDeepAt = lineOfDeepNest(text);
  if (tooDeepAt !== undefined) throw new ConfigError([`${path}:${tooDeepAt}:1: it is nested too deeply`]);
  const lines = new LineCounter();
  // Pretty errors quote the line in question, which may contain a credential. The parser's own
  // check for repeated keys takes quadratic time.
  const document = parseDocument(text, {
    merge: mergeKeys,
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const refused = document.errors.map(({ pos, message }) => ({ at: pos[0], message: withoutQuotedSource(message) }));
  const problems = refused.length > 0 ? refused : badKeys(document);
  if (problems.length > 0) {
    throw new ConfigError(
      problems.map(({ at, message }) => {
        const { line, col } = lines.linePos(at);
        return `${path}:${line}:${col}: ${message}`;
      }),
    );
  }
  try {
    return { document, value: document.toJS() };
  } catch {
    throw new ConfigError([`${path}: it has too many aliases`]);
  }
}

/**
 * The parser calls itself for each level, so the levels are bounded before it runs: brackets that
 * are open, in texts and comments too, and dashes and blanks of one line.
 */
function lineOfDeepNest(text: string): number | undefined {
  let open = 0;
  for (const [index, line] of text.split('\n').entries()) {
    let levels = 0;
    for (const character of line) {
      if (character === '[' || character === '{') open += 1;
      else if (character === ']' || character === '}') open = Math.max(0, open - 1);
      else if (character === '-' || character === '?') levels += 1;
      if (open > mostOpenBrackets) return index + 1;
    }
    const indent = line.length - line.trimStart().length;
    if (indent > mostLevelsOfLine || (levels > mostLevelsOfLine && blocksIn(line) > mostLevelsOfLine)) return index + 1;
  }
  return undefined;
}

/** How many blocks a line may begin: "- - ? x". */
function blocksIn(line: string): number {
  return line.split(/[-?](?=\s|$)/).length - 1;
}

const mostOpenBrackets = 300;
const mostLevelsOfLine = 300;

interface Problem {
  readonly at: number;
  readonly message: string;
}

/** Finds repeated keys, and keys that are not scalars: nested ones take long to convert to text. */
function badKeys(document: Document.Parsed): readonly Problem[] {
  const problems: Problem[] = [];
  visit(document, { Map: (_, map) => void problems.push(...badKeysOf(map)) });
  return problems;
}

function badKeysOf({ items }: YAMLMap): readonly Problem[] {
  const known = new Set<unknown>();
  return items.flatMap(({ key }): readonly Problem[] => {
    // In a document without problems, a key without a position is one that was left out.
    if (key === null) return [];
    if (!isScalar(key)) return [{ at: placeOf(key), message: 'A key must be a plain text' }];
    if (known.has(key.value)) return [{ at: placeOf(key), message: 'Map keys must be unique' }];
    known.add(key.value);
    return [];
  });
}

function placeOf(key: unknown): number {
  const range: unknown = typeof key === 'object' && key !== null && 'range' in key ? key.range : undefined;
  return Array.isArray(range) && typeof range[0] === 'number' ? range[0] : 0;
}

/** The parser appends the text in question, which may be a credential, after a colon. */
function withoutQuotedSource(message: string): string {
  return message.split(':', 1)[0] ?? '';
}
