import { isTest, type SourceTree, type Violation } from './source-tree.ts';

const longestSource = 350;

/** Names without a meaning attract unrelated code. */
export function namesThatSayNothing(tree: SourceTree): readonly Violation[] {
  return [...tree.keys()].flatMap((path) => {
    const part = path.split('/').find((name) => /^(.*-)?(utils?|helpers?)(\..*)?$|^common(\..*)?$/i.test(name));
    return part === undefined ? [] : [{ file: path, problem: `"${part}" doesn't say what it gives` }];
  });
}

/** A file that cannot be read in one go should be several. */
export function filesTooLong(tree: SourceTree): readonly Violation[] {
  return [...tree].flatMap(([path, text]) => {
    if (!/\.(tsx?|css)$/.test(path) || isTest(path)) return [];
    const lines = text.trimEnd().split('\n').length;
    return lines <= longestSource ? [] : [{ file: path, problem: `has ${lines} lines; at most ${longestSource}` }];
  });
}
