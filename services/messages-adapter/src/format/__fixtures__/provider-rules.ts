import type Anthropic from '@anthropic-ai/sdk';
import { expect } from 'vitest';

type Request = Anthropic.MessageCreateParamsStreaming;
type Block = Anthropic.ContentBlockParam;

/** What a model accepts, according to the provider's own tables. */
export interface ModelRules {
  readonly maxTokens: number;
  readonly thinking: readonly NonNullable<Request['thinking']>['type'][];
  readonly efforts: readonly string[];
  readonly forcedTools: boolean;
  readonly structuredOutput: boolean;
}

const upToMax = ['low', 'medium', 'high', 'xhigh', 'max'];

/** @see https://platform.claude.com/docs/en/about-claude/models/overview */
export const modelRules: Readonly<Record<string, ModelRules>> = {
  'claude-3-haiku-20240307': earlier(4_096, []),
  'claude-opus-4-1-20250805': earlier(32_000, ['enabled', 'disabled']),
  'claude-sonnet-4-5-20250929': { ...earlier(64_000, ['enabled', 'disabled']), structuredOutput: true },
  'claude-opus-4-5': { ...earlier(64_000, ['enabled', 'disabled'], ['low', 'medium', 'high']), structuredOutput: true },
  'claude-sonnet-4-6': current(['adaptive', 'disabled'], { efforts: ['low', 'medium', 'high', 'max'] }),
  'claude-opus-4-8': current(['adaptive', 'disabled']),
  'claude-sonnet-5': current(['adaptive', 'disabled']),
  'claude-haiku-5-5': current(['adaptive', 'disabled']),
  'claude-sonnet-5-5': current(['adaptive', 'between_tools'], { forcedTools: false }),
  'claude-opus-5-5-20261001': current(['adaptive'], { forcedTools: false }),
  'claude-fable-5': current(['adaptive']),
  'claude-mythos-5-1': current(['adaptive'], { forcedTools: false }),
};

function earlier(maxTokens: number, thinking: ModelRules['thinking'], efforts: readonly string[] = []): ModelRules {
  return { maxTokens, thinking, efforts, forcedTools: true, structuredOutput: false };
}

function current(thinking: ModelRules['thinking'], exceptions: Partial<ModelRules> = {}): ModelRules {
  return {
    ...{ maxTokens: 128_000, thinking, efforts: upToMax, forcedTools: true, structuredOutput: true },
    ...exceptions,
  };
}

/** Expects a request to keep every rule that the provider checks. */
export function expectProviderRules(request: Request, rules: ModelRules): void {
  expect(members).toEqual(expect.arrayContaining(Object.keys(request)));
  expect(request.max_tokens).toBeGreaterThanOrEqual(1);
  expect(request.max_tokens).toBeLessThanOrEqual(rules.maxTokens);
  for (const sequence of request.stop_sequences ?? []) expect(sequence).toMatch(/\S/);
  if (request.system !== undefined) expect(request.system).toMatch(/\S/);
  expectMessageRules(request.messages);
  expectToolRules(request, rules);
  expectReasoningRules(request, rules);
}

const members: readonly string[] = [
  ...['model', 'max_tokens', 'stream', 'system', 'messages', 'stop_sequences', 'tools', 'tool_choice', 'thinking'],
  'output_config',
];

interface Message {
  readonly role: Anthropic.MessageParam['role'];
  readonly content: string | readonly object[];
}

/**
 * The user starts, roles alternate, all results of a message's calls come first in the next
 * message, text precedes calls, nothing is blank, and ids are unique and use the allowed alphabet.
 */
export function expectMessageRules(messages: readonly Message[]): void {
  expect(messages.map(({ role }) => role)).toEqual(messages.map((_, index) => (index % 2 ? 'assistant' : 'user')));
  const seen = new Set<string>();
  let waiting: readonly string[] = [];
  for (const { content } of messages) {
    const blocks = blocksOf(content);
    expect(blocks.length).toBeGreaterThan(0);
    const results = blocks.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
    expect(results.toSorted()).toEqual(waiting.toSorted());
    expect(blocks.slice(0, results.length).every(({ type }) => type === 'tool_result')).toBe(true);
    waiting = blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
    expect(blocks.slice(blocks.length - waiting.length).every(({ type }) => type !== 'text')).toBe(true);
    for (const id of waiting) {
      expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(seen.has(id)).toBe(false);
      seen.add(id);
    }
    for (const block of blocks) expectBlockRules(block);
  }
  expect(waiting).toEqual([]);
  const [last, lastBlock] = [messages.at(-1), blocksOf(messages.at(-1)?.content ?? []).at(-1)];
  if (last?.role === 'assistant' && lastBlock?.type === 'text') expect(lastBlock.text).not.toMatch(/\s$/);
}

function expectBlockRules(block: Block): void {
  if (block.type === 'text') expect(block.text).toMatch(/\S/);
  if (block.type === 'tool_use') {
    expect(block.name).toMatch(/^[a-zA-Z0-9_-]{1,128}$/);
    expect(JSON.stringify(block.input)).toMatch(/^\{/);
  }
  if (block.type === 'tool_result' && block.content !== undefined) {
    for (const part of blocksOf(block.content)) expectBlockRules(part);
  }
}

function expectToolRules({ tools, tool_choice: choice, messages }: Request, rules: ModelRules): void {
  const calls = messages.flatMap(({ content }) => blocksOf(content)).some(({ type }) => type === 'tool_use');
  if (calls) expect(tools).toBeDefined();
  const names = (tools ?? []).map((tool) => ('name' in tool ? tool.name : undefined));
  expect(new Set(names).size).toBe(names.length);
  for (const tool of tools ?? []) {
    expect(tool).toMatchObject({ name: expect.stringMatching(/^[\w-]{1,128}$/), input_schema: { type: 'object' } });
    if ('strict' in tool && tool.strict) expect(rules.structuredOutput).toBe(true);
  }
  if (choice === undefined) return;
  expect(names.length).toBeGreaterThan(0);
  if (choice.type === 'none') expect(choice).toEqual({ type: 'none' });
  if (choice.type === 'tool') expect(names).toContain(choice.name);
  if (choice.type === 'any' || choice.type === 'tool') expect(rules.forcedTools).toBe(true);
}

function expectReasoningRules(
  { thinking, output_config: config, max_tokens, tool_choice, messages }: Request,
  rules: ModelRules,
) {
  if (config !== undefined) expect(Object.keys(config).length).toBeGreaterThan(0);
  if (config?.effort !== undefined) expect(rules.efforts).toContain(config.effort);
  if (config?.format !== undefined) expect(rules.structuredOutput).toBe(true);
  if (thinking === undefined) return;
  expect(rules.thinking).toContain(thinking.type);
  const forced = tool_choice?.type === 'any' || tool_choice?.type === 'tool';
  if (thinking.type === 'adaptive') expect(forced).toBe(false);
  if (thinking.type !== 'enabled') return;
  expect(forced).toBe(false);
  expect(thinking.budget_tokens).toBeGreaterThanOrEqual(1_024);
  expect(thinking.budget_tokens).toBeLessThan(max_tokens);
  // With a budget, an answer that tools interrupted must start with the preceding thinking.
  expect(blocksOf(messages.at(-1)?.content ?? []).some(({ type }) => type === 'tool_result')).toBe(false);
}

function blocksOf(content: string | readonly object[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly Block[]);
}
