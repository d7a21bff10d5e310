import { parseGatewayFile, pathText } from '@gateway/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { importLitellm } from './import-litellm.ts';
import { importText } from './import-report.ts';

const secret = 'sk-SECRET-of-the-file';
const awkward = fc.constantFrom(
  'a: b',
  '# c',
  '- d',
  `\${HOME}`,
  'two\nlines',
  '"',
  "'",
  '*',
  '',
  ' ',
  'null',
  '1.0',
  '\u202e',
  'é',
  '__proto__',
);
const word = fc.oneof(fc.constantFrom('gpt-5', 'claude-sonnet-5', 'strong', 'fast', 'x/y'), awkward, fc.string());
const prefix = fc.constantFrom(
  '',
  'openai/',
  'anthropic/',
  'azure/',
  'hosted_vllm/',
  'bedrock/',
  'gemini/',
  'unknown/',
  'ollama/',
);
const scalar = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), word);
const anything = fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.dictionary(word, scalar, { maxKeys: 2 }));

const deployment = fc.oneof(
  fc.record(
    {
      model_name: word,
      litellm_params: fc.record(
        {
          model: fc.tuple(prefix, word).map(([first, rest]) => first + rest),
          api_base: fc.oneof(fc.constantFrom('http://gpu:8000/v1', 'https://eu.example/', 'os.environ/URL'), anything),
          api_key: fc.oneof(fc.constantFrom('os.environ/KEY', 'none', secret), anything),
          rpm: anything,
          order: anything,
          max_parallel_requests: anything,
          tags: anything,
          reasoning_effort: anything,
          input_cost_per_token: anything,
          output_cost_per_token: anything,
        },
        { requiredKeys: ['model'] },
      ),
      model_info: anything,
    },
    { requiredKeys: ['model_name', 'litellm_params'] },
  ),
  anything,
);

const configuration = fc.record(
  {
    model_list: fc.oneof(fc.array(deployment, { maxLength: 6 }), anything),
    router_settings: fc.oneof(
      fc.record(
        {
          fallbacks: fc.array(fc.dictionary(word, fc.array(word))),
          model_group_alias: fc.dictionary(word, word),
          num_retries: anything,
          cooldown_time: anything,
        },
        { requiredKeys: [] },
      ),
      anything,
    ),
    litellm_settings: anything,
    general_settings: fc.dictionary(word, fc.oneof(anything, fc.constant(secret))),
    credential_list: anything,
    other: anything,
  },
  { requiredKeys: ['model_list'] },
);

/** The paths of all values that say something. */
function leavesOf(value: unknown, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object') return [path];
  return Object.entries(value).flatMap(([key, member]) =>
    leavesOf(member, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

describe('whatever a LiteLLM configuration says', () => {
  it('every model is taken or left, and the file loads', () => {
    fc.assert(
      fc.property(configuration, (given) => {
        const { text, counts, left, variables } = importLitellm(stringify(given), 'config.yaml');
        const entries = Array.isArray(given.model_list) ? given.model_list : [];
        const refused = entries.filter((_, index) => left.some(({ place }) => place === `model_list[${index}]`));
        expect(counts.taken + refused.length).toBe(entries.length);
        const env = Object.fromEntries(variables.map(({ name }) => [name, 'https://host.example']));
        if (text !== undefined) parseGatewayFile(text, 'gateway.yaml', env);
        else expect(counts.taken).toBe(0);
      }),
      { numRuns: 300, examples: [[namelessAlias]] },
    );
  });

  it('every value of it is in the file, or is left by name', () => {
    const plain = fc.record({
      model_list: fc.constant([{ model_name: 'gpt-5', litellm_params: { model: 'openai/gpt-5' } }]),
      router_settings: fc.dictionary(fc.string({ minLength: 1 }), anything),
      another: anything,
    });
    fc.assert(
      fc.property(plain, (given) => {
        const { left } = importLitellm(stringify(given), 'config.yaml');
        const places = new Set(left.map(({ place }) => place));
        const silent = leavesOf({ ...given, model_list: [] }).filter(
          (path) => !path.some((_, index) => places.has(pathText(path.slice(0, index + 1)))),
        );
        expect(silent.map(pathText)).toEqual([]);
      }),
    );
  });

  it('no secret of it is printed or written', () => {
    fc.assert(
      fc.property(configuration, (given) => {
        const result = importLitellm(stringify(given), 'config.yaml');
        expect(`${result.text}${importText(result)}`).not.toContain(secret);
      }),
    );
  });
});

/** A class with this name could not be written. */
const namelessAlias = {
  model_list: [{ model_name: 'fast', litellm_params: { model: 'openai/gpt-5', api_key: 'os.environ/KEY' } }],
  router_settings: { model_group_alias: { '': 'fast' } },
};
