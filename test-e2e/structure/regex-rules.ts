import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';
import { isTest, type SourceTree, type Violation } from './source-tree.ts';

/*
 * A regular expression that backtracks takes time that grows faster than its text: one line of a caller stops the process.
 * What a program makes of texts while it runs can't be judged, and is not made.
 */

/** Regular expressions whose time grows faster than the text that they are tried on. */
export function regexesThatBacktrack(tree: SourceTree): readonly Violation[] {
  return regexesIn(tree).flatMap(({ file, pattern, flags }) => {
    if (onOwnText.get(file)?.patterns.includes(pattern)) return [];
    const { reports } = analyse(new RegExp(pattern, flags));
    return reports.slice(0, 1).map(({ character }) => {
      return { file, problem: `/${pattern}/${flags} backtracks on a text of many ${character.literal.source}` };
    });
  });
}

/** Regular expressions that are made of texts. */
export function regexesMadeOfTexts(tree: SourceTree): readonly Violation[] {
  return sourcesOf(tree).flatMap(([file, text]) => {
    if (!/\bRegExp\s?\(/.test(text) || onOwnText.get(file)?.makesThem) return [];
    return [
      { file, problem: 'makes a regular expression of a text: compare texts instead, or list it with its reason' },
    ];
  });
}

/** What is listed and need not be. */
export function regexesListedInVain(tree: SourceTree): readonly Violation[] {
  const found = new Set(regexesIn(tree).map(({ file, pattern }) => `${file} ${pattern}`));
  return [...onOwnText].flatMap(([file, { patterns }]) => {
    const inVain = patterns.filter((pattern) => !found.has(`${file} ${pattern}`));
    return inVain.map((pattern) => ({ file, problem: `/${pattern}/ is listed and not there` }));
  });
}

interface Listed {
  /** Those that backtrack. */
  readonly patterns: readonly string[];
  readonly makesThem?: boolean;
  /** Why no text of a caller comes there. */
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
