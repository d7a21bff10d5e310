import { posix } from 'node:path';
import { importsOf } from './imports-of.ts';
import { isTest, type SourceTree, type Violation } from './source-tree.ts';

/**
 * No file imports itself through others, not even for a type. Code that two files need from each
 * other has a file of its own. A file can then be read with only those below it.
 */
export function cyclesAmongFiles(tree: SourceTree): readonly Violation[] {
  const imports = importedFiles(tree);
  const done = new Set<string>();
  const violations: Violation[] = [];
  for (const file of imports.keys()) {
    const cycle = cycleThrough(file, imports, done);
    if (cycle !== undefined) violations.push({ file, problem: `imports itself: ${cycle.join(' → ')}` });
    done.add(file);
  }
  return violations;
}

/** The files that each file of the production code imports by path. */
function importedFiles(tree: SourceTree): ReadonlyMap<string, ReadonlySet<string>> {
  const imports = new Map<string, Set<string>>();
  for (const { file, specifier } of importsOf(tree)) {
    const target = posix.join(posix.dirname(file), specifier);
    if (isTest(file) || !specifier.startsWith('.') || !tree.has(target)) continue;
    const ofFile = imports.get(file) ?? new Set();
    imports.set(file, ofFile.add(target));
  }
  return imports;
}

/**
 * The shortest path from the file back to it, over files that are not done: a file that is done is
 * on no cycle or on a known one.
 */
function cycleThrough(
  start: string,
  imports: ReadonlyMap<string, ReadonlySet<string>>,
  done: ReadonlySet<string>,
): readonly string[] | undefined {
  const ways: (readonly string[])[] = [[start]];
  const seen = new Set<string>();
  for (const way of ways) {
    for (const next of imports.get(way.at(-1) ?? '') ?? []) {
      if (next === start) return [...way, start];
      if (done.has(next) || seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}
