import type Anthropic from '@anthropic-ai/sdk';
import { hi, type RequestCases, sentHi } from './provider-request.ts';

const tools = ['one', 'two'].map((name) => ({ type: 'function', function: { name } }));
const sentTools: Anthropic.Tool[] = ['one', 'two'].map((name) => ({
  name,
  input_schema: { type: 'object', properties: {} },
}));
const named = { type: 'function', function: { name: 'two' } };
const mustCall = 'Your next answer must call at least one of the tools.';
const mustCallTwo = 'Your next answer must be a call of the tool "two".';
/** Models that refuse to be forced. */
const unforced = ['claude-sonnet-5-5', 'claude-opus-5-5-20261001', 'claude-fable-5-1', 'claude-mythos-5-1'];
const thinking = { type: 'adaptive', display: 'summarized' } as const;

export const toolChoiceCases: RequestCases = [
  ...choices({
    'no choice': [undefined, undefined, undefined],
    'a choice that is null': [null, null, undefined],
    'free choice': ['auto', undefined, undefined],
    'free choice and parallel calls': ['auto', true, undefined],
    'free choice and one call at a time': ['auto', false, { type: 'auto', disable_parallel_tool_use: true }],
    'no choice and one call at a time': [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
    'no choice and parallel calls': [undefined, true, undefined],
    'no tool allowed': ['none', undefined, { type: 'none' }],
    'no tool allowed and one call at a time': ['none', false, { type: 'none' }],
    'any tool required': ['required', undefined, { type: 'any' }],
    'any tool required and parallel calls': ['required', true, { type: 'any' }],
    'any tool required and one call at a time': ['required', false, { type: 'any', disable_parallel_tool_use: true }],
    'one tool required': [named, undefined, { type: 'tool', name: 'two' }],
    'one tool required and parallel calls': [named, true, { type: 'tool', name: 'two' }],
    'one tool required and one call at a time': [
      named,
      false,
      { type: 'tool', name: 'two', disable_parallel_tool_use: true },
    ],
    'one tool required, without a type': [{ function: { name: 'two' } }, undefined, { type: 'tool', name: 'two' }],
  }),
  ...unforced.flatMap(
    (model): RequestCases => [
      {
        name: `any tool required of ${model}, which is an instruction instead`,
        model,
        request: { messages: hi, tools, tool_choice: 'required' },
        becomes: { system: mustCall, messages: sentHi, tools: sentTools, thinking },
      },
      {
        name: `one tool required of ${model}, which is given that one only`,
        model,
        request: { messages: hi, tools, tool_choice: named },
        becomes: { system: mustCallTwo, messages: sentHi, tools: sentTools.slice(1), thinking },
      },
    ],
  ),
  {
    name: 'one call at a time of a tool that the model can not be forced to',
    model: 'claude-opus-5-5',
    request: {
      messages: [{ role: 'system', content: 'Be brief.' }, ...hi],
      tools,
      tool_choice: named,
      parallel_tool_calls: false,
      reasoning_effort: 'high',
    },
    becomes: {
      system: `Be brief.\n\n${mustCallTwo}`,
      messages: sentHi,
      tools: sentTools.slice(1),
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking,
      output_config: { effort: 'high' },
    },
  },
  {
    name: 'no tool allowed to a model that can not be forced',
    model: 'claude-opus-5-5',
    request: { messages: hi, tools, tool_choice: 'none' },
    becomes: { messages: sentHi, tools: sentTools, tool_choice: { type: 'none' }, thinking },
  },
  {
    name: 'a forced tool and a thinking budget, which do not go together',
    model: 'claude-sonnet-4-5-20250929',
    request: { messages: hi, tools, tool_choice: 'required', reasoning_effort: 'high' },
    becomes: { messages: sentHi, tools: sentTools, tool_choice: { type: 'any' } },
  },
  {
    name: 'a free choice of tools and a thinking budget',
    model: 'claude-sonnet-4-5-20250929',
    request: { messages: hi, tools, tool_choice: 'auto', reasoning_effort: 'high' },
    becomes: { messages: sentHi, tools: sentTools, thinking: { type: 'enabled', budget_tokens: 16_384 } },
  },
  {
    name: 'a forced tool and effort, on a model that thinks when asked',
    request: { messages: hi, tools, tool_choice: named, reasoning_effort: 'max' },
    becomes: {
      messages: sentHi,
      tools: sentTools,
      tool_choice: { type: 'tool', name: 'two' },
      output_config: { effort: 'max' },
    },
  },
  {
    name: 'a forced tool on a model that thinks by itself',
    model: 'claude-sonnet-5',
    request: { messages: hi, tools, tool_choice: 'required' },
    becomes: { messages: sentHi, tools: sentTools, tool_choice: { type: 'any' } },
  },
  ...refused({
    'a choice of a tool that there is not': [
      { type: 'function', function: { name: 'three' } },
      'tool_choice.function.name',
    ],
    'a choice of no name': [{ type: 'function', function: {} }, 'tool_choice.function.name'],
    'a choice without a function': [{ type: 'function' }, 'tool_choice.function'],
    'a choice of a custom tool': [{ type: 'custom', custom: { name: 'one' } }, 'tool_choice.type'],
    'a choice of allowed tools': [
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } },
      'tool_choice.type',
    ],
    'a choice in the words of the Messages format': [{ type: 'any' }, 'tool_choice.type'],
    'a choice that is a word of another format': ['any', 'tool_choice'],
    'a choice that is a list': [['one'], 'tool_choice'],
  }),
];

type Choice = readonly [choice: unknown, parallel: boolean | null | undefined, sent: Anthropic.ToolChoice | undefined];

function choices(cases: Readonly<Record<string, Choice>>): RequestCases {
  return Object.entries(cases).map(([what, [tool_choice, parallel_tool_calls, sent]]) => ({
    name: `tools: ${what}`,
    request: { messages: hi, tools, tool_choice, parallel_tool_calls },
    becomes: { messages: sentHi, tools: sentTools, ...(sent !== undefined && { tool_choice: sent }) },
  }));
}

function refused(cases: Readonly<Record<string, readonly [choice: unknown, field: string]>>): RequestCases {
  return Object.entries(cases).map(([name, [tool_choice, field]]) => ({
    name,
    request: { messages: hi, tools, tool_choice },
    becomes: { refused: 'invalid_request', field },
  }));
}
