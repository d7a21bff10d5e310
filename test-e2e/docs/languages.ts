import type { CodeBlock } from '@gateway/testkit/pages';

/** What tests do with the blocks of a language. */
export interface Language {
  /** Undefined: it is only read. */
  readonly runBy?: 'shell' | 'node';
  /** How it is read. `words`: not code. */
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

/** Of a block whose language is not known nothing is run: it must say why. */
export function languageOf({ language }: CodeBlock): Language {
  return languages[language] ?? { readAs: 'words' };
}

/** What a block that is neither run nor read leaves unsaid. */
export function missingReasons({ language, attributes }: CodeBlock): readonly string[] {
  if (language === '') return ['says no language; words and drawings are text'];
  if (languages[language] !== undefined || attributes.noRun !== undefined) return [];
  return [`is in ${language}, which is not run: say why with no-run="…"`];
}

/** Outputs that belong to nothing: what they show would never be compared. */
export function strayOutputs(blocks: readonly CodeBlock[]): readonly CodeBlock[] {
  return blocks.filter((block, index) => {
    const before = blocks[index - 1];
    return block.attributes.output === true && (before === undefined || languageOf(before).runBy === undefined);
  });
}
