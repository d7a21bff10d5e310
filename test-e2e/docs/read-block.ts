import type { CodeBlock } from '@gateway/testkit/pages';
import { parser as goParser } from '@lezer/go';
import type { LRParser } from '@lezer/lr';
import { parser as pythonParser } from '@lezer/python';
import { parse as parseToml } from 'smol-toml';
import { parseAllDocuments } from 'yaml';
import { gatewayFileProblems } from './gateway-file-problems.ts';
import { languageOf } from './languages.ts';
import { shellProblems } from './shell-problems.ts';

/**
 * The problems of a block in the syntax of its language. The compiler checks all TypeScript at
 * once.
 */
export async function readBlock(block: CodeBlock): Promise<readonly string[]> {
  const { text } = block;
  switch (languageOf(block).readAs) {
    case 'shell':
      return shellProblems(text);
    case 'python':
      return syntaxProblems(pythonParser, text);
    case 'go':
      return syntaxProblems(goParser, text);
    case 'yaml':
      return yamlProblems(text);
    case 'json':
      return thrownBy(() => JSON.parse(text));
    case 'toml':
      return thrownBy(() => parseToml(text));
    case 'typescript':
    case 'words':
      return [];
  }
}

function yamlProblems(text: string): readonly string[] {
  const documents = parseAllDocuments(text);
  const problems = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings].map(({ message }) => message));
  if (problems.length > 0) return problems;
  return documents.flatMap((document) => gatewayFileProblems(document.toJS()));
}

/** These are parsers of editors: they continue after a mistake, and mark it. */
function syntaxProblems(parser: LRParser, text: string): readonly string[] {
  const problems: string[] = [];
  parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError) problems.push(`line ${text.slice(0, from).split('\n').length}: a mistake of syntax`);
    },
  });
  return problems;
}

function thrownBy(read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (thrown) {
    return [thrown instanceof Error ? thrown.message : String(thrown)];
  }
}
