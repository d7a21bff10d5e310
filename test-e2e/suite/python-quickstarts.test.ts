import { join } from 'node:path';
import { type CodeBlock, type Page, placeOf, readPages } from '@gateway/testkit/pages';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { textWith } from '../docs/addresses.ts';
import { type DocumentedGateway, startDocumentedGateway } from '../docs/documented-gateway.ts';
import { makePageFolder, repositoryRoot } from '../docs/page-folder.ts';
import { missingIn } from '../docs/printed.ts';
import { type Finished, runShell } from '../docs/run-shell.ts';
import { toolchain } from '../docs/toolchains.ts';

interface Program {
  readonly name: string;
  readonly block: CodeBlock;
  /** The output according to its page. */
  readonly output: CodeBlock;
}

const pages = await readPages(repositoryRoot);
const programs = pages.filter(({ path }) => path.startsWith('docs/quickstart/')).flatMap(programsOf);

// npm and Debian do not have the packages: those in test-e2e/docs/python-packages send the same
// HTTP requests as the real ones.
describe('a Python program of a quickstart', () => {
  let gateway: DocumentedGateway;
  beforeAll(async () => {
    gateway = await startDocumentedGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it('is on each page for Python', () => {
    const places = programs.map(({ name, block }) => `${block.page} ${name}`);
    expect(places).toEqual([
      'docs/quickstart/anthropic-python.md hello.py',
      'docs/quickstart/anthropic-python.md errors.py',
      'docs/quickstart/langchain.md hello.py',
      'docs/quickstart/openai-python.md hello.py',
      'docs/quickstart/openai-python.md responses.py',
      'docs/quickstart/openai-python.md errors.py',
    ]);
  });

  it.for(programs.map((program) => [placeOf(program.block), program] as const))(
    'prints what its page says: %s',
    async ([, { block, output }]) => {
      const { exitCode, printed } = await run(block.text, block);
      expect({ exitCode, missing: missingIn(printed, output.text), printed }).toMatchObject({
        exitCode: 0,
        missing: undefined,
      });
    },
  );

  it.for([
    ['a parameter that the package does not have', 'stream=True', 'streamed=True'],
    ['another base address', ':8080/v1', ':8080'],
    ['a model that is not there', 'gateway/sterk', 'gateway/nobody'],
    ['a name that chunks do not have', 'chunk.choices', 'chunk.choice'],
  ] as const)('would be found out with %s', async ([, right, wrong]) => {
    const program = programs.find(({ block, name }) => block.page.endsWith('openai-python.md') && name === 'hello.py');
    const { block, output } = program ?? expect.fail('there is no such program');
    expect(block.text).toContain(right);
    const { exitCode, printed } = await run(block.text.replace(right, wrong), block);
    expect(exitCode === 0 && missingIn(printed, output.text) === undefined).toBe(false);
  });

  async function run(text: string, block: CodeBlock): Promise<Finished> {
    await using folder = await makePageFolder('empty');
    const token = (await issueToken(gateway, {})).text;
    await folder.write('program.py', textWith({ ...block, text }, gateway.addresses, token));
    const env = await toolchain('Python', folder.path);
    const packages = join(repositoryRoot, 'test-e2e/docs/python-packages');
    return await runShell(
      'python3 program.py',
      folder.path,
      { ...env, HOME: folder.path, GATEWAY_TOKEN: token, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' },
      60,
    );
  }
});

function programsOf({ blocks }: Page): readonly Program[] {
  return blocks.flatMap((block, index) => {
    const name = block.attributes.file;
    const [command, output] = blocks.slice(index + 1);
    const isRun = name !== undefined && command?.text === `python3 ${name}` && output?.attributes.output === true;
    return block.language === 'python' && isRun ? [{ name, block, output }] : [];
  });
}
