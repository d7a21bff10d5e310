import { isTest, type SourceTree, type Violation } from './source-tree.ts';

const longestSource = 350;

/** Names that say nothing gather whatever has no place. */
export function namesThatSayNothing(tree: SourceTree): readonly Violation[] {
  return [...tree.keys()].flatMap((path) => {
    const part = path.split('/').find((name) => /^(.*-)?(utils?|helpers?)(\..*)?$|^common(\..*)?$/i.test(name));
    return part === undefined ? [] : [{ file: path, problem: `"${part}" doesn't say what it gives` }];
  });
}

/** A file that nobody can read in one go wants to be several. */
export function filesTooLong(tree: SourceTree): readonly Violation[] {
  return [...tree].flatMap(([path, text]) => {
    if (!/\.(tsx?|css)$/.test(path) || isTest(path)) return [];
    const lines = text.trimEnd().split('\n').length;
    return lines <= longestSource ? [] : [{ file: path, problem: `has ${lines} lines; at most ${longestSource}` }];
  });
}
