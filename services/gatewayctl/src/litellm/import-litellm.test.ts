import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, parseGatewayFile } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { importLitellm } from './import-litellm.ts';
import { importText } from './import-report.ts';

const fixtures = join(import.meta.dirname, '__fixtures__');
const team = readFileSync(join(fixtures, 'team.litellm.yaml'), 'utf8');

function imported(models: string, more = '') {
  return importLitellm(`model_list:\n${models}\n${more}`, 'config.yaml');
}

const model = (name: string, params: string) => `- { model_name: "${name}", litellm_params: { ${params} } }`;

describe('the import of a LiteLLM configuration', () => {
  it('writes the expected gateway.yaml, and the expected list', async () => {
    const result = importLitellm(team, 'team.litellm.yaml');
    await expect(result.text).toMatchFileSnapshot(join(fixtures, 'team.gateway.yaml'));
    await expect(importText(result)).toMatchFileSnapshot(join(fixtures, 'team.list.txt'));
    expect(importLitellm(team, 'team.litellm.yaml')).toEqual(result);
  });

  it('repeats no secret of the file', () => {
    const result = importLitellm(team, 'team.litellm.yaml');
    const said = `${result.text}${importText(result)}`;
    const secrets = [
      'sk-ant-this',
      'redis-password',
      'langfuse-secret',
      'master-key',
      'database-password',
      'azure-secret',
    ];
    for (const secret of secrets) {
      expect(team).toContain(secret);
      expect(said).not.toContain(secret);
    }
  });

  it('names the file, the line and the column of a text that is no YAML, and does not repeat the line', () => {
    const broken = 'model_list:\n  - model_name: a\n   api_key: sk-secret\n';
    expect(() => importLitellm(broken, 'config.yaml')).toThrow(/config\.yaml:3:\d+: /);
    expect(() => importLitellm(broken, 'config.yaml')).not.toThrow(/sk-secret/);
    expect(() => importLitellm('just a text', 'config.yaml')).toThrow(ConfigError);
    expect(() => importLitellm('&a [*a]', 'config.yaml')).toThrow(ConfigError);
  });

  it('takes nothing from a file without models, and says what else the file has', () => {
    const { text, counts, left } = importLitellm('model_list: []\ngeneral_settings: { master_key: sk-1 }\n', 'c.yaml');
    expect({ text, taken: counts.taken }).toEqual({ text: undefined, taken: 0 });
    expect(left.map(({ place }) => place)).toEqual(['general_settings.master_key']);
  });
});

describe('the address of a provider', () => {
  const addressOf = (params: string) => {
    const { text } = imported(model('m', `${params}, api_key: os.environ/K`));
    const base = 'https://stand-in.invalid';
    return text && parseGatewayFile(text, 'gateway.yaml', { K: 'k', URL: base }).pools[0]?.baseUrl;
  };

  it.each([
    ['model: openai/gpt-5.5', 'https://api.openai.com/v1'],
    ['model: gpt-5.5', 'https://api.openai.com/v1'],
    ['model: claude-sonnet-5', 'https://api.anthropic.com/v1'],
    ['model: anthropic/claude-sonnet-5, api_base: "https://proxy.example/"', 'https://proxy.example/v1'],
    ['model: anthropic/claude-sonnet-5, api_base: "https://proxy.example/v1/messages"', 'https://proxy.example/v1'],
    [
      'model: azure/prod, api_base: "https://eu.openai.azure.com/?api-version=1"',
      'https://eu.openai.azure.com/openai/v1',
    ],
    [
      'model: azure_ai/claude-sonnet-5, api_base: "https://eu.services.ai.azure.com/anthropic"',
      'https://eu.services.ai.azure.com/anthropic/v1',
    ],
    [
      'model: azure_ai/claude-sonnet-5, api_base: "https://eu.services.ai.azure.com"',
      'https://eu.services.ai.azure.com/anthropic/v1',
    ],
    ['model: ollama/llama3, api_base: "http://gpu:11434"', 'http://gpu:11434/v1'],
    ['model: openai/llama3, base_url: "http://gpu:8000/v1/"', 'http://gpu:8000/v1'],
    ['model: openai/llama3, api_base: os.environ/URL', 'https://stand-in.invalid'],
    ['model: ollama/llama3, api_base: os.environ/URL', 'https://stand-in.invalid/v1'],
  ])('of "%s" is %s', (params, address) => {
    expect(addressOf(params)).toBe(address);
  });

  it.each([
    ['has a password', 'model: openai/m, api_base: "https://user:secret@host/v1"'],
    ['has a query', 'model: openai/m, api_base: "https://host/v1?key=secret"'],
    ['has a reference of gateway.yaml', `model: openai/m, api_base: "https://host/\${ADMIN_TOKEN}"`],
    ['is no address', 'model: openai/m, api_base: "file:///etc/passwd"'],
    ['is missing', 'model: hosted_vllm/m'],
  ])('that %s leaves the model out', (_what, params) => {
    const { text, left } = imported(model('m', params));
    expect(text).toBeUndefined();
    expect(left.map(({ place }) => place)).toEqual(['model_list[0]']);
    expect(JSON.stringify(left)).not.toContain('secret');
  });
});

describe('keys', () => {
  it('get names that no other variable has, and the same secret gets the same name', () => {
    const { variables, text } = imported(
      [
        model('a', 'model: openai/a, api_key: sk-one'),
        model('b', 'model: openai/b, api_key: sk-two'),
        model('c', 'model: openai/c, api_key: sk-one'),
        model('d', 'model: openai/d, api_key: os.environ/OPENAI_KEY_1'),
      ].join('\n'),
    );
    expect(variables.map(({ name, valueAt = '' }) => `${name} ${valueAt}`)).toEqual([
      'OPENAI_KEY_2 model_list[0].litellm_params.api_key',
      'OPENAI_KEY_3 model_list[1].litellm_params.api_key',
      'OPENAI_KEY_1 ',
    ]);
    expect(text).not.toContain('sk-');
  });

  it('that name no variable leave the model out', () => {
    const { left } = imported(model('a', 'model: openai/a, api_key: os.environ/NOT-A-NAME'));
    expect(left).toEqual([{ place: 'model_list[0]', text: 'The key names no environment variable.' }]);
  });
});

describe('classes', () => {
  it('keep the name of clients where one model of one pool has it, and need gateway/ otherwise', () => {
    const { modelNames } = imported(
      [
        model('gpt-5.5', 'model: openai/gpt-5.5'),
        model('gpt-5.5', 'model: openai/gpt-5.5, api_key: os.environ/SECOND'),
        model('fast', 'model: openai/gpt-5-mini'),
        model('openai/gpt-4o', 'model: openai/gpt-4o'),
        model('openai-gpt-4o', 'model: openai/gpt-4o'),
        model('openai/*', 'model: openai/*'),
      ].join('\n'),
    );
    expect(modelNames).toEqual([
      { from: 'gpt-5.5', to: 'gpt-5.5' },
      { from: 'fast', to: 'gateway/fast' },
      { from: 'openai/gpt-4o', to: 'gateway/openai-gpt-4o' },
      { from: 'openai-gpt-4o', to: 'gateway/openai-gpt-4o-2' },
      { from: 'openai/*', to: '*' },
    ]);
  });

  it('prefer deployments by their order, then the fallbacks of the router', () => {
    const { text = '' } = imported(
      [
        model('a', 'model: openai/one, order: 2'),
        model('a', 'model: anthropic/two, order: 1'),
        model('b', 'model: openai/three'),
        model('c', 'model: openai/four'),
      ].join('\n'),
      'litellm_settings: { fallbacks: [{ a: [c] }] }\nrouter_settings: { fallbacks: [{ a: [b] }] }\n',
    );
    const { classes } = parseGatewayFile(text, 'gateway.yaml', { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' });
    const a = classes.find(({ id }) => id === 'gateway/a');
    expect(a?.candidates).toEqual([
      { pool: 'anthropic', model: 'two' },
      { pool: 'openai', model: 'one' },
      { pool: 'openai', model: 'three' },
    ]);
  });
});

describe('prices', () => {
  it('of the same model that differ are left out', () => {
    const priced = (cost: string) =>
      `- { model_name: a, litellm_params: { model: openai/a }, model_info: { input_cost_per_token: ${cost}, output_cost_per_token: 2e-6 } }`;
    const { text, left } = imported(`${priced('1e-6')}\n${priced('3e-6')}\n${priced('1e-6')}`);
    expect(text).toContain('input: 1\n');
    expect(left.map(({ place }) => place)).toEqual([
      'model_list[1].model_info.input_cost_per_token',
      'model_list[1].model_info.output_cost_per_token',
    ]);
  });
});
