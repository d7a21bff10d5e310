import { isTest, type SourceTree, type Violation } from './source-tree.ts';

/**
 * Tests run on machines of any speed: expected events come in the end. The longest waiting time is
 * chosen when a run begins, see `libs/testkit/src/room`; a test's own time is `roomMs` of a time
 * that is enough on a usual machine.
 */
export function waitsOfFixedLength(tree: SourceTree): readonly Violation[] {
  return [...tree].flatMap(([file, text]) => {
    if (!(isTest(file) || file.startsWith('libs/testkit/src/')) || isExempt(file)) return [];
    const waits = hasBrowser.test(file) ? [...fixedWaits, readAtOnce] : fixedWaits;
    return waits.flatMap(({ pattern, problem }) =>
      [...text.matchAll(pattern)].map(([found]) => ({ file, problem: `${found.trim()}: ${problem}` })),
    );
  });
}

const fixedWaits = [
  { pattern: /\bvi\.wait(?:For|Until)\(/g, problem: 'gives up after a second; `expect.poll` has room' },
  {
    pattern: /\btimeout: [\d_]+\b(?! \*)/g,
    problem: 'has no room; tests and `expect.poll` need no time-out of their own',
  },
  { pattern: /\bAbortSignal\.timeout\(\d{1,3}_\d{3}\)/g, problem: 'has no room' },
  { pattern: /^ *\}, [\d_]{4,}\);$/gm, problem: 'is a time-out without room, if it ends a test' },
  { pattern: /\bsetDefault(?:Navigation)?Timeout\([\d_]+\)/g, problem: 'has no room' },
  { pattern: /\bgiveUpAt(?:Ms)? = \S+ \+ [\d_]+/g, problem: 'has no room' },
  {
    pattern: /\bexpect\((?:performance|Date)\.now\(\) - \w+[^)]*\)\.toBeLessThan(?:OrEqual)?\([\d_]+\)/g,
    problem: 'has no room',
  },
] as const;

/** A browser's locator reads a page as it is at the moment. */
const readAtOnce = {
  pattern:
    /\bexpect\(\s*await [^;]*?\.(?:textContent|allTextContents|innerText|allInnerTexts|inputValue|getAttribute|title|count|is(?:Visible|Hidden|Checked|Enabled|Disabled))\([^()]*\)(?=,?\s*\))/g,
  problem: 'reads a page that may still be loading; use `expect.poll`',
} as const;

const hasBrowser = /^test-e2e\/(?:browser|sign-in)\//;

/** Code that measures, asks other systems, or creates texts of tests. */
function isExempt(file: string): boolean {
  return /^test-e2e\/(?:bench|peers|structure)\//.test(file);
}
