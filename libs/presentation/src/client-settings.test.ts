import { create } from '@bufbuild/protobuf';
import { ListPoolsResponseSchema } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { AccountState, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { apiOfClient, clientModelsOf, clientSettingsFor, exportLine } from './client-settings.ts';

const accounts = [{ state: AccountState.AVAILABLE }];
const responses = { pool: { name: 'responses', ownedBy: 'a', format: ProviderFormat.RESPONSES }, accounts };
const messages = { pool: { name: 'messages', ownedBy: 'b', format: ProviderFormat.MESSAGES }, accounts };
const classes = [
  { id: 'gateway/sterk', effort: 'high', candidates: ['responses/gpt-5.5', 'messages/claude-opus-4-8'] },
  { id: 'gateway/snel', effort: 'low', candidates: ['responses/gpt-5.5-mini'] },
  { id: 'gateway/claude', effort: 'medium', candidates: ['messages/claude-sonnet-5'] },
];
const modelsOf = (pools: (typeof responses)[], ids = classes, models: { id: string; ownedBy: string }[] = []) =>
  clientModelsOf(create(ListPoolsResponseSchema, { overview: { pools, classes: ids }, models }));

describe('models for clients', () => {
  it('are such as each way of speaking takes', () => {
    expect(modelsOf([responses, messages])).toEqual({
      ...{ chat: 'gateway/sterk', small: 'gateway/snel' },
      ...{ messages: 'gateway/claude', responses: 'gpt-5.5' },
    });
    expect(modelsOf([responses])).toMatchObject({ messages: undefined });
  });

  it('are such as accounts in service can serve', () => {
    const none = { chat: undefined, small: undefined, messages: undefined, responses: undefined };
    expect(modelsOf([], [])).toEqual(none);
    expect(modelsOf([{ ...responses, accounts: [] }])).toEqual(none);
    const [disabled, draining] = [AccountState.DISABLED, AccountState.DRAINING].map((state) => ({ state }));
    const out = { ...responses, accounts: [disabled ?? expect.fail(), draining ?? expect.fail()] };
    expect(modelsOf([out, messages])).toEqual({
      ...{ chat: 'gateway/sterk', small: 'gateway/sterk' },
      ...{ messages: 'gateway/claude', responses: undefined },
    });
  });

  it('are models of providers if there is no class for an API', () => {
    const models = [
      { id: 'gateway/claude', ownedBy: 'gateway' },
      { id: 'gpt-6', ownedBy: 'a' },
      { id: 'claude-6', ownedBy: 'b' },
    ];
    expect(modelsOf([responses, messages], [], models)).toEqual({
      ...{ chat: 'gpt-6', small: 'gpt-6' },
      ...{ messages: 'claude-6', responses: 'gpt-6' },
    });
    expect(modelsOf([{ ...responses, accounts: [] }, messages], [], models)).toMatchObject({ chat: 'claude-6' });
  });
});

describe('settings of clients', () => {
  const all = clientSettingsFor('https://gateway.example', modelsOf([responses, messages]));
  const textOf = (client: string) => all.find((each) => each.client === client)?.text ?? '';

  it('are there for each client, with the token in a variable alone', () => {
    expect(all.map(({ client }) => client)).toEqual([
      'curl',
      'OpenAI SDK, TypeScript',
      'OpenAI SDK, Python',
      'Anthropic SDK, TypeScript',
      'Anthropic SDK, Python',
      'Vercel AI SDK',
      'Claude Code',
      'Codex',
      'opencode',
    ]);
    for (const { client, text } of all) expect(text, client).toContain('GATEWAY_TOKEN');
    expect(exportLine('gw_s_1')).toBe("export GATEWAY_TOKEN='gw_s_1'");
  });

  it('name the Node that they need, and are JavaScript that every such Node runs', () => {
    const programs = all.filter(({ file }) => /\.[cm]?[jt]s$/.test(file));
    expect(programs.map(({ file }) => file)).toEqual(['hello.mjs', 'hello.mjs', 'hello.mjs']);
    for (const { note } of programs) expect(note).toContain('It needs Node 22 or newer.');
  });

  it('have the base URL as the client wants it', () => {
    expect(textOf('Anthropic SDK, Python')).toContain('base_url="https://gateway.example"');
    expect(textOf('OpenAI SDK, Python')).toContain('base_url="https://gateway.example/v1"');
    expect(textOf('OpenAI SDK, TypeScript')).toContain("import OpenAI from 'openai';");
    expect(textOf('Codex')).toContain('wire_api = "responses"');
    expect(JSON.parse(textOf('opencode'))).toMatchObject({
      model: 'gateway/gateway/sterk',
      small_model: 'gateway/gateway/snel',
    });
  });

  it('are left out for clients that no pool can serve', () => {
    const clients = clientSettingsFor('https://gateway.example', modelsOf([responses])).map(({ client }) => client);
    expect(clients).toContain('Codex');
    expect(clients).not.toContain('Claude Code');
    expect([apiOfClient('claude-code'), apiOfClient('telnet')]).toEqual(['messages', undefined]);
  });
});
