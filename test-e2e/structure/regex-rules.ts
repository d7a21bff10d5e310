import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';
import { isTest, type SourceTree, type Violation } from './source-tree.ts';

/*
 * The time of a regular expression with backtracking may grow faster than its text: one line of a
 * caller could stop the process. Expressions that are built at run time can't be checked, so there
 * are none.
 */

/** Regular expressions whose time grows faster than their text. */
export function regexesThatBacktrack(tree: SourceTree): readonly Violation[] {
  return regexesIn(tree).flatMap(({ file, pattern, flags }) => {
    if (onOwnText.get(file)?.patterns.includes(pattern)) return [];
    const { reports } = analyse(new RegExp(pattern, flags));
    return reports.slice(0, 1).map(({ character }) => {
      return { file, problem: `/${pattern}/${flags} backtracks on a text of many ${character.literal.source}` };
    });
  });
}

/** Regular expressions that are built from texts. */
export function regexesMadeOfTexts(tree: SourceTree): readonly Violation[] {
  return sourcesOf(tree).flatMap(([file, text]) => {
    if (!/\bRegExp\s?\(/.test(text) || onOwnText.get(file)?.makesThem) return [];
    return [
      { file, problem: 'makes a regular expression of a text: compare texts instead, or list it with its reason' },
    ];
  });
}

/** Entries of the list that are no longer needed. */
export function regexesListedInVain(tree: SourceTree): readonly Violation[] {
  const found = new Set(regexesIn(tree).map(({ file, pattern }) => `${file} ${pattern}`));
  return [...onOwnText].flatMap(([file, { patterns }]) => {
    const inVain = patterns.filter((pattern) => !found.has(`${file} ${pattern}`));
    return inVain.map((pattern) => ({ file, problem: `/${pattern}/ is listed and not there` }));
  });
}

interface Listed {
  /** Expressions with backtracking. */
  readonly patterns: readonly string[];
  readonly makesThem?: boolean;
  /** Why no text of a caller reaches it. */
  readonly reason: string;
}

const onOwnText: ReadonlyMap<string, Listed> = new Map<string, Listed>([
  ['libs/testkit/src/servers/debian-packages.js', { patterns: [], makesThem: true, reason: 'two names of its own' }],
]);

interface FoundRegex {
  readonly file: string;
  readonly pattern: string;
  readonly flags: string;
}

function regexesIn(tree: SourceTree): readonly FoundRegex[] {
  return sourcesOf(tree).flatMap(([file, text]) => {
    const program = parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file);
    return literalsIn(program).map((literal) => ({ file, ...literal }));
  });
}

function sourcesOf(tree: SourceTree): readonly (readonly [file: string, text: string])[] {
  return [...tree].filter(([file]) => /^(libs|services|deploy)\/.*\.(tsx?|m?js)$/.test(file) && !isTest(file));
}

function literalsIn(node: unknown): readonly Omit<FoundRegex, 'file'>[] {
  if (typeof node !== 'object' || node === null) return [];
  if ('regex' in node && isRegex(node.regex)) return [node.regex];
  return Object.values(node).flatMap(literalsIn);
}

function isRegex(value: unknown): value is Omit<FoundRegex, 'file'> {
  return typeof value === 'object' && value !== null && 'pattern' in value && 'flags' in value;
}
