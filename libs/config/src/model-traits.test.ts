import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError } from './env-reader.ts';
import { loadGatewayFile } from './gateway-file.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'model-traits-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function loadPools(pools: string) {
  const path = join(folder, 'gateway.yaml');
  writeFileSync(path, pools);
  return loadGatewayFile(path, {}).pools;
}

function traitsOf(format: string, models: string) {
  return loadPools(`pools: { p: { format: ${format}, owned_by: o, base_url: "http://x", models: ${models} } }`)[0]
    ?.modelTraits;
}

function problemsOf(format: string, models: string): readonly string[] {
  try {
    traitsOf(format, models);
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
  return [];
}

const unsaid = {
  efforts: undefined,
  thinking: undefined,
  thinkingByDefault: undefined,
  leastThinking: undefined,
  forcedToolChoice: undefined,
  structuredOutput: undefined,
  maxOutputTokens: undefined,
};

describe('traits of models', () => {
  it('are kept in the order of the file, what is left out not said', () => {
    const models = '{ "gpt-7-mini*": { efforts: [] }, "gpt-7*": { efforts: [none, minimal, xhigh] } }';
    expect(traitsOf('responses', models)).toEqual([
      { pattern: 'gpt-7-mini*', traits: { ...unsaid, efforts: [] } },
      { pattern: 'gpt-7*', traits: { ...unsaid, efforts: ['none', 'minimal', 'xhigh'] } },
    ]);
  });

  it('can say everything of a Messages model', () => {
    const traits = `{ efforts: [low, max], thinking: adaptive, thinking_by_default: true, thinking_least: between_tools,
      forced_tool_choice: false, structured_output: true, max_output_tokens: 128000 }`;
    expect(traitsOf('messages', `{ "claude-opus-9*": ${traits} }`)).toEqual([
      {
        pattern: 'claude-opus-9*',
        traits: {
          efforts: ['low', 'max'],
          thinking: 'adaptive',
          thinkingByDefault: true,
          leastThinking: 'between_tools',
          forcedToolChoice: false,
          structuredOutput: true,
          maxOutputTokens: 128_000,
        },
      },
    ]);
  });

  it('are none where none are written', () => {
    const [pool] = loadPools('pools: { p: { format: messages, owned_by: o, base_url: "http://x" } }');
    expect(pool?.modelTraits).toEqual([]);
  });

  it('are refused, each by its place, where they make no sense by themselves', () => {
    const models =
      '{ a: { efforts: [ultra, low] }, "b.1*": { efforts: [low, low], colour: red }, c: { thinking: hard }, d: , e: { max_output_tokens: 0 } }';
    expect(problemsOf('messages', models)).toEqual([
      'pools.p.models.a.efforts[0]: must be one of none, minimal, low, medium, high, xhigh, max',
      'pools.p.models["b.1*"].efforts: must not contain an effort twice',
      'pools.p.models["b.1*"].colour: this key does not exist',
      'pools.p.models.c.thinking: must be one of none, budget, adaptive',
      'pools.p.models.d: must be a value of type object',
      'pools.p.models.e.max_output_tokens: too small: expected number to be >=1',
    ]);
  });

  it('are refused, each by its place, where the format of the pool has no such thing', () => {
    expect(problemsOf('responses', '{ a: { efforts: [minimal], thinking: none, max_output_tokens: 5 } }')).toEqual([
      'pools.p.models.a.thinking: only pools of format messages support this trait',
      'pools.p.models.a.max_output_tokens: only pools of format messages support this trait',
    ]);
    expect(problemsOf('messages', '{ a: { efforts: [low, minimal, none] } }')).toEqual([
      'pools.p.models.a.efforts[1]: must be low, medium, high, xhigh or max in a pool of format messages',
      'pools.p.models.a.efforts[2]: must be low, medium, high, xhigh or max in a pool of format messages',
    ]);
  });

  it('are refused where they contradict each other', () => {
    const models =
      '{ a: { thinking: budget, thinking_least: disabled, thinking_by_default: false }, b: { thinking_least: disabled } }';
    expect(problemsOf('messages', models)).toEqual([
      'pools.p.models.a.thinking_by_default: requires thinking: adaptive',
      'pools.p.models.a.thinking_least: requires thinking: adaptive',
    ]);
  });

  it('are checked however broken the rest of the file is', () => {
    const problems = problemsOf('responses, wheels: 4', '{ a: { structured_output: true } }');
    expect(problems).toEqual([
      'pools.p.wheels: this key does not exist',
      'pools.p.models.a.structured_output: only pools of format messages support this trait',
    ]);
  });
});
