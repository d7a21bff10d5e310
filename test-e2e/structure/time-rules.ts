import { importsOf } from './imports-of.ts';
import { isTest, type SourceTree, type Violation } from './source-tree.ts';

// A simulated world decides every instant, timer and random value of the gateway, so that a seed
// repeats a run. Code that asks the platform for them would differ in each run.

/** Files that need the platform's own, with the reason. */
export const onTheSystemsTime: Readonly<Record<string, string>> = {
  'libs/time/src/system-source.ts': 'it is the source that a simulated world replaces',
  'libs/database/src/sqlite/checkpoint-thread.ts': 'a thread loads its own modules, which no simulated world reaches',
  'libs/lifecycle/src/failed-process.ts': 'it ends this process even when everything else hangs',
};

/**
 * Code of libraries and services that asks the platform for time or chance. Out of the rule are
 * tests, doubles of providers and servers, which stand outside a gateway, and the console, which
 * runs in a browser.
 */
export function timeAndChanceOfThePlatform(tree: SourceTree): readonly Violation[] {
  const covered = new Map([...tree].filter(([file]) => isCovered(file) && !(file in onTheSystemsTime)));
  const modules = importsOf(covered).flatMap(({ file, specifier }) =>
    /^(?:node:)?(?:timers(?:\/promises)?|perf_hooks)$/.test(specifier) ? [{ file, used: specifier, instead: '' }] : [],
  );
  const uses = [...covered].flatMap(([file, text]) => usesIn(text).map((use) => ({ file, ...use })));
  return [...modules, ...uses].map(({ file, used, instead }) => ({
    file,
    problem: `uses ${used}: take ${instead || 'time and chance'} from @gateway/time, which a simulated world replaces`,
  }));
}

function isCovered(file: string): boolean {
  return (
    /^(?:libs|services)\/.*\.(?:ts|js|mjs)$/.test(file) &&
    !/^(?:libs\/testkit|services\/admin\/console)\//.test(file) &&
    !isTest(file)
  );
}

function usesIn(text: string): readonly { readonly used: string; readonly instead: string }[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '');
  return platform.flatMap(({ pattern, instead }) =>
    [...code.matchAll(pattern)].map(([found]) => ({ used: found.replaceAll(/\s+/g, ' '), instead })),
  );
}

/** How the platform's time and chance are asked for, and what to use instead. */
const platform = [
  { pattern: /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new )\bDate\(\s*\)|\bTemporal\.Now\b/g, instead: 'epochMs' },
  { pattern: /\bperformance\.(?:now|timeOrigin)\b|= performance;/g, instead: 'monotonicMs' },
  { pattern: /\bprocess\.(?:hrtime|uptime)\b/g, instead: 'monotonicMs' },
  { pattern: /(?<![\w.#$])(?:globalThis\.)?setTimeout\b/g, instead: 'startTimer or sleep' },
  { pattern: /(?<![\w.#$])(?:globalThis\.)?setInterval\b/g, instead: 'startInterval' },
  { pattern: /(?<![\w.#$])(?:globalThis\.)?setImmediate\b/g, instead: 'startImmediate or yieldToEventLoop' },
  { pattern: /(?<![\w.#$])(?:globalThis\.)?clear(?:Timeout|Interval)\b/g, instead: 'cancelTimer' },
  { pattern: /(?<![\w.#$])(?:globalThis\.)?clearImmediate\b/g, instead: 'cancelImmediate' },
  { pattern: /\bAbortSignal\.timeout\b/g, instead: 'timeoutSignal' },
  { pattern: /\bMath\.random\b/g, instead: 'random' },
  { pattern: /\brandomUUID\b/g, instead: 'randomId' },
  { pattern: /\brandomUUIDv7\b/g, instead: 'timeOrderedId' },
  { pattern: /\brandomInt\b/g, instead: 'randomInteger' },
  { pattern: /\b(?:randomFill(?:Sync)?|getRandomValues|crypto\.randomBytes)\b/g, instead: 'randomBytes' },
  { pattern: /\bimport \{[^}]*\brandomBytes\b[^}]*\} from '(?:node:)?crypto'/g, instead: 'randomBytes' },
  // Options that are spread, such as `cacheTime`, have a clock.
  { pattern: /\bnew LRUCache\b(?=[^;]*\bttl:)(?![^;]*(?:\bperf\b|\.\.\.))/g, instead: 'cacheTime' },
] as const;

/** Only simulated worlds and tests replace the source of time and chance. */
export function replacedTimeOutsideTests(tree: SourceTree): readonly Violation[] {
  return importsOf(tree).flatMap(({ file, specifier }) =>
    specifier !== '@gateway/time/simulated' || mayReplaceTime(file)
      ? []
      : [{ file, problem: `imports ${specifier}, which only tests and test-e2e/simulation may do` }],
  );
}

function mayReplaceTime(file: string): boolean {
  if (!file.startsWith('test-e2e/')) return isTest(file);
  return file.startsWith('test-e2e/simulation/') || file.endsWith('.test.ts');
}
