import { question } from './client-messages.ts';
import { userItem } from './input-items.ts';
import type { ProviderMembers, ResponsesRequestCase } from './provider-members.ts';

const tools = [
  { type: 'function', function: { name: 'weather' } },
  { type: 'function', function: { name: 'time' } },
];
const sentTools: ProviderMembers['tools'] = ['weather', 'time'].map((name) => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
  strict: false,
}));

/** Two tools with these members beside them, and what the provider gets beside its two. */
const among = (
  name: string,
  members: object,
  sent: Pick<ProviderMembers, 'tool_choice' | 'parallel_tool_calls'>,
): ResponsesRequestCase => ({
  name,
  request: { messages: [question], tools, ...members },
  becomes: { input: [userItem('Hi')], tools: sentTools, ...sent },
});

/** The same members and no tools: the provider would refuse them alone. */
const alone = (name: string, members: object): ResponsesRequestCase => ({
  name,
  request: { messages: [question], ...members },
  becomes: { input: [userItem('Hi')] },
});

const refused = (name: string, members: object, field: string): ResponsesRequestCase => ({
  name,
  request: { messages: [question], tools, ...members },
  becomes: { refused: 'invalid_request', field },
});

const named = (name: string) => ({ type: 'function', function: { name } });

export const toolChoiceCases: readonly ResponsesRequestCase[] = [
  among('tool choice none', { tool_choice: 'none' }, { tool_choice: 'none' }),
  among('tool choice auto', { tool_choice: 'auto' }, { tool_choice: 'auto' }),
  among('tool choice required', { tool_choice: 'required' }, { tool_choice: 'required' }),
  among('a tool chosen', { tool_choice: named('time') }, { tool_choice: { type: 'function', name: 'time' } }),
  among(
    'a tool chosen without a type',
    { tool_choice: { function: { name: 'weather' } } },
    { tool_choice: { type: 'function', name: 'weather' } },
  ),
  among('a tool choice that is null', { tool_choice: null }, {}),
  among('parallel calls allowed', { parallel_tool_calls: true }, { parallel_tool_calls: true }),
  among('parallel calls forbidden', { parallel_tool_calls: false }, { parallel_tool_calls: false }),
  among('parallel calls that are null', { parallel_tool_calls: null }, {}),
  among(
    'a tool chosen and parallel calls forbidden',
    { tool_choice: named('weather'), parallel_tool_calls: false },
    { tool_choice: { type: 'function', name: 'weather' }, parallel_tool_calls: false },
  ),
  alone('tool choice none without tools', { tool_choice: 'none' }),
  alone('tool choice auto without tools', { tool_choice: 'auto' }),
  alone('tool choice required without tools', { tool_choice: 'required', tools: [] }),
  alone('a tool chosen without tools', { tool_choice: named('weather') }),
  alone('parallel calls without tools', { parallel_tool_calls: true }),
  alone('parallel calls forbidden without tools', { parallel_tool_calls: false, tools: [] }),
  refused('a tool chosen that is none of the tools', { tool_choice: named('place') }, 'tool_choice.function.name'),
  refused('a choice of any tool as Messages has it', { tool_choice: 'any' }, 'tool_choice'),
  refused('an empty tool choice', { tool_choice: {} }, 'tool_choice.function'),
  refused(
    'a choice of allowed tools',
    { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('time')] } } },
    'tool_choice.type',
  ),
  refused('a choice of a custom tool', { tool_choice: { type: 'custom', custom: { name: 'x' } } }, 'tool_choice.type'),
  refused(
    'a tool chosen as Responses writes it',
    { tool_choice: { type: 'function', name: 'time' } },
    'tool_choice.function',
  ),
  refused(
    'a tool chosen without a name',
    { tool_choice: { type: 'function', function: {} } },
    'tool_choice.function.name',
  ),
  refused('a tool choice that is a number', { tool_choice: 1 }, 'tool_choice'),
  refused('parallel calls that are a text', { parallel_tool_calls: 'no' }, 'parallel_tool_calls'),
];
