import { blocksIn } from '@gateway/testkit/pages';
import { describe, expect, it } from 'vitest';
import type { DocumentedGateway } from '../docs/documented-gateway.ts';
import { runPage } from '../docs/run-page.ts';

/** The runner needs only the addresses of a gateway and a token. */
const gateway: DocumentedGateway = {
  addresses: { gateway: 'http://127.0.0.1:1001', admin: 'http://127.0.0.1:1002', simulator: 'http://127.0.0.1:1003' },
  adminToken: 'gw_a_operator',
  operator: {
    issue: async () => ({ tokenText: 'gw_s_reader' }),
    update: async () => {},
    revoke: async () => {},
    accountsOf: async () => [],
    knowsModelsOf: async () => true,
    requestsOf: async () => [],
  },
  [Symbol.asyncDispose]: async () => {},
};

async function follow(...blocks: readonly (readonly [info: string, text: string])[]): Promise<string> {
  const markdown = blocks.map(([info, text]) => `\`\`\`${info}\n${text}\n\`\`\`\n`).join('\n');
  let printed = '';
  await runPage({ path: 'a.md', blocks: blocksIn('a.md', markdown) }, gateway, {
    withClients: false,
    onPrinted: (text) => {
      printed += text;
    },
  });
  return printed;
}

describe('the runner of pages', () => {
  it('finds a command that fails, by its page and line', async () => {
    await expect(follow(['sh', 'true'], ['sh', 'false; echo on'])).rejects.toThrow('a.md:5: it ended with 1');
    await expect(follow(['sh', 'cat nothing | sort'])).rejects.toThrow('a.md:1: it ended with 1');
    await expect(follow(['ts', 'throw new Error("no");'])).rejects.toThrow('a.md:1: it ended with 1');
  });

  it('finds a command that should fail and does not', async () => {
    await expect(follow(['sh fails', 'true'])).rejects.toThrow('it did not fail');
    await follow(['sh fails', 'false']);
  });

  it('finds a shown line that was not printed', async () => {
    await expect(follow(['sh', 'echo one; echo two'], ['text output', 'two\none'])).rejects.toThrow('no line is\none');
    await expect(follow(['sh', 'echo a.c'], ['text output', 'a'])).rejects.toThrow('no line is\na');
    await expect(follow(['sh', 'echo abc'], ['text output', 'a.c'])).rejects.toThrow('no line is\na.c');
    await follow(['sh', 'echo one; echo between; echo two'], ['text output', 'o…\ntwo']);
  });

  it('continues in the same folder, with the variables and files of the blocks before', async () => {
    const printed = await follow(
      ['sh', 'export NAME=value\nmkdir inside\ncd inside'],
      ['json file="settings.json"', '{}'],
      ['sh', 'echo "$NAME $(basename "$PWD") $(cat ~/settings.json)"'],
    );
    expect(printed).toBe('value inside {}\n');
  });

  it('runs a program once: where the page says so, else by itself', async () => {
    const program = ['ts file="hello.mts"', 'console.log("hello");'] as const;
    expect(await follow(program)).toBe('hello\n');
    expect(await follow(program, ['sh', 'node hello.mts'])).toBe('hello\n');
    expect(await follow(program, ['sh no-run="needs a reader"', 'node hello.mts'])).toBe('hello\n');
  });

  it('runs nothing that says it cannot be run, or needs downloads', async () => {
    const printed = await follow(
      ['sh no-run="needs a cluster"', 'false'],
      ['sh clients', 'false'],
      ['text output', 'x'],
    );
    expect(printed).toBe('');
  });

  it('puts this gateway in place of the documented one, and nothing else', async () => {
    const text =
      'echo http://127.0.0.1:8080/v1 127.0.0.1:9090 127.0.0.1:8090 "<the printed token>" $GATEWAY_TOKEN 127.0.0.1:5';
    expect(await follow(['sh', text])).toBe(
      'http://127.0.0.1:1001/v1 127.0.0.1:1002 127.0.0.1:1003 gw_s_reader gw_s_reader 127.0.0.1:5\n',
    );
  });

  it('takes an answer with an error status for an error', async () => {
    expect(await follow(['sh', 'cat "$CURL_HOME/.curlrc"'])).toContain('fail-with-body');
  });
});
