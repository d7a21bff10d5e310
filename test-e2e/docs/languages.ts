import type { CodeBlock } from '@gateway/testkit/pages';

/** How tests treat the blocks of a language. */
export interface Language {
  /** Undefined: it is only checked. */
  readonly runBy?: 'shell' | 'node';
  /** How it is checked. `words`: not code. */
  readonly readAs: 'shell' | 'typescript' | 'python' | 'go' | 'yaml' | 'json' | 'toml' | 'words';
}

const languages: Readonly<Record<string, Language>> = {
  sh: { runBy: 'shell', readAs: 'shell' },
  ts: { runBy: 'node', readAs: 'typescript' },
  python: { readAs: 'python' },
  go: { readAs: 'go' },
  yaml: { readAs: 'yaml' },
  json: { readAs: 'json' },
  toml: { readAs: 'toml' },
  text: { readAs: 'words' },
};

/** A block in an unknown language is not run: it must give a reason. */
export function languageOf({ language }: CodeBlock): Language {
  return languages[language] ?? { readAs: 'words' };
}

/** Blocks that are neither run nor checked, and give no reason. */
export function missingReasons({ language, attributes }: CodeBlock): readonly string[] {
  if (language === '') return ['says no language; words and drawings are text'];
  if (languages[language] !== undefined || attributes.noRun !== undefined) return [];
  return [`is in ${language}, which is not run: say why with no-run="…"`];
}

/** Outputs without a command: tests could never compare them. */
export function strayOutputs(blocks: readonly CodeBlock[]): readonly CodeBlock[] {
  return blocks.filter((block, index) => {
    const before = blocks[index - 1];
    return block.attributes.output === true && (before === undefined || languageOf(before).runBy === undefined);
  });
}
