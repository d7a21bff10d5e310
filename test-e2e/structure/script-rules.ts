import type { SourceTree, Violation } from './source-tree.ts';

/** `npm run help` prints one sentence for each script of the root's package.json. */
export function scriptsWithoutSentence(tree: SourceTree): readonly Violation[] {
  const file = 'package.json';
  const { scripts = {}, 'scripts-info': sentences = {} }: Manifest = JSON.parse(tree.get(file) ?? '{}');
  const names = Object.keys(scripts);
  const problems = [
    ...names.filter((name) => !isSentence(sentences[name])).map((name) => `${name} has no sentence in scripts-info`),
    ...Object.keys(sentences)
      .filter((name) => !names.includes(name))
      .map((name) => `scripts-info describes ${name}, which is no script`),
  ];
  return problems.map((problem) => ({ file, problem }));
}

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly 'scripts-info'?: Readonly<Record<string, unknown>>;
}

function isSentence(text: unknown): boolean {
  return typeof text === 'string' && /^[A-Z][^\n]{8,}\.$/.test(text) && !/\. [A-Z]/.test(text);
}
