import { text } from '@gateway/testkit/adapters';
import {
  itemAdded,
  itemDone,
  type MessageOptions,
  messageEvents,
  type ProviderStreamEvent,
  type ResponsesAnswer,
  textDelta,
} from './events.ts';
import type { OutputItem } from './items.ts';
import { completed, created, inProgress, queued } from './responses.ts';
import { frame, lines } from './unusual-frames.ts';

const at = { sequence_number: 0, item_id: 'item_0', output_index: 0 } as const;
const step = (type: StepType): ProviderStreamEvent => ({ type, ...at });

/** Events that say nothing but which item they are of. */
type StepType =
  Extract<ProviderStreamEvent, { item_id: string }> extends infer Event
    ? Event extends { type: infer Type extends string }
      ? Exclude<keyof Event, keyof typeof at | 'type'> extends never
        ? Type
        : never
      : never
    : never;

/** An answer after the events of a hosted tool, which say nothing to a chat client. */
function beside(name: string, events: ResponsesAnswer['events'], message: MessageOptions = { at: 1 }): ResponsesAnswer {
  return {
    name,
    events: [created(), ...events, ...messageEvents(['It is 4.'], message), completed()],
    deltas: [text('It is 4.')],
    ending: 'stop',
  };
}

/** An item from its beginning to its end with these events between. */
function item(item: OutputItem, events: readonly ProviderStreamEvent[]): ResponsesAnswer['events'] {
  return [itemAdded(item), ...events, itemDone(item)];
}

const hostedTools: readonly ResponsesAnswer[] = [
  beside(
    'a web search',
    item({ type: 'web_search_call', id: 'ws_0', status: 'completed', action: { type: 'search', query: '2+2' } }, [
      step('response.web_search_call.in_progress'),
      step('response.web_search_call.searching'),
      step('response.web_search_call.completed'),
    ]),
  ),
  beside(
    'a file search',
    item({ type: 'file_search_call', id: 'fs_0', status: 'completed', queries: ['sums'] }, [
      step('response.file_search_call.in_progress'),
      step('response.file_search_call.searching'),
      step('response.file_search_call.completed'),
    ]),
  ),
  beside(
    'a run of code',
    item(
      { type: 'code_interpreter_call', id: 'ci_0', status: 'completed', code: '2+2', container_id: 'c', outputs: [] },
      [
        step('response.code_interpreter_call.in_progress'),
        { type: 'response.code_interpreter_call_code.delta', ...at, delta: '2+2' },
        { type: 'response.code_interpreter_call_code.done', ...at, code: '2+2' },
        step('response.code_interpreter_call.interpreting'),
        step('response.code_interpreter_call.completed'),
      ],
    ),
  ),
  beside(
    'an image that is drawn',
    item({ type: 'image_generation_call', id: 'ig_0', status: 'completed', result: 'iVBORw0KGgo=' }, [
      step('response.image_generation_call.in_progress'),
      step('response.image_generation_call.generating'),
      {
        type: 'response.image_generation_call.partial_image',
        ...at,
        partial_image_b64: 'iVBORw0KGgo=',
        partial_image_index: 0,
      },
      step('response.image_generation_call.completed'),
    ]),
  ),
  beside(
    'a call to a remote tool, with arguments that are none of the client',
    item({ type: 'mcp_call', id: 'mcp_0', name: 'add', server_label: 'sums', arguments: '{"a":2}', output: '4' }, [
      step('response.mcp_call.in_progress'),
      { type: 'response.mcp_call_arguments.delta', ...at, delta: '{"a":2}' },
      { type: 'response.mcp_call_arguments.done', ...at, arguments: '{"a":2}' },
      step('response.mcp_call.completed'),
    ]),
  ),
  beside('a remote tool that failed, which is no failure of the response', [
    step('response.mcp_list_tools.in_progress'),
    step('response.mcp_list_tools.failed'),
    step('response.mcp_call.failed'),
  ]),
  beside(
    'the tools of a remote server',
    item({ type: 'mcp_list_tools', id: 'mcpl_0', server_label: 'sums', tools: [] }, [
      step('response.mcp_list_tools.in_progress'),
      step('response.mcp_list_tools.completed'),
    ]),
  ),
  beside('a shell command and its output', [
    { type: 'response.shell_call_command.added', sequence_number: 0, output_index: 0, command_index: 0, command: '' },
    { type: 'response.shell_call_command.delta', sequence_number: 0, output_index: 0, command_index: 0, delta: 'ls' },
    { type: 'response.shell_call_command.done', sequence_number: 0, output_index: 0, command_index: 0, command: 'ls' },
    { type: 'response.shell_call_output_content.delta', ...at, command_index: 0, delta: { stdout: 'a.txt' } },
    {
      type: 'response.shell_call_output_content.done',
      ...at,
      command_index: 0,
      output: [{ outcome: { type: 'exit', exit_code: 0 }, stdout: 'a.txt', stderr: '' }],
    },
  ]),
  beside(
    'a call of a custom tool, which no chat client has',
    item({ type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: '*** Begin' }, [
      { type: 'response.custom_tool_call_input.delta', ...at, delta: '*** Begin' },
      { type: 'response.custom_tool_call_input.done', ...at, input: '*** Begin' },
    ]),
  ),
  beside(
    'a history that is compacted on the way',
    item({ type: 'compaction', id: 'cmp_0', encrypted_content: 'gAAAAA==' }, [step('response.compaction.compacting')]),
  ),
];

const others: readonly ResponsesAnswer[] = [
  beside(
    'audio and its transcript',
    [
      { type: 'response.audio.delta', sequence_number: 0, delta: 'UklGRg==' },
      { type: 'response.audio.done', sequence_number: 0 },
      { type: 'response.audio.transcript.delta', sequence_number: 0, delta: 'It is 5.' },
      { type: 'response.audio.transcript.done', sequence_number: 0 },
    ],
    { at: 0 },
  ),
  beside('all that comes before an answer', [queued(), inProgress(), inProgress()], { at: 0 }),
  {
    name: 'a citation within a text',
    events: [
      created(),
      textDelta('See the '),
      {
        type: 'response.output_text.annotation.added',
        ...at,
        content_index: 0,
        annotation_index: 0,
        annotation: { type: 'url_citation', url: 'https://example.com', title: 'Sums', start_index: 4, end_index: 12 },
      },
      textDelta('page.'),
      completed(),
    ],
    deltas: [text('See the '), text('page.')],
    ending: 'stop',
  },
  {
    name: 'signs of life between deltas',
    everySplit: true,
    events: [
      created(),
      frame({ type: 'keepalive', sequence_number: 1 }),
      textDelta('One '),
      lines('event: ping', 'data: {}'),
      textDelta('moment.'),
      frame({ type: 'ping' }),
      completed(),
    ],
    deltas: [text('One '), text('moment.')],
    ending: 'stop',
  },
  {
    name: 'a response that is steered while it runs',
    events: [
      created(),
      textDelta('One'),
      ...['accepted', 'pending', 'failed'].map((state) => frame({ type: `response.steer.${state}`, steer: {} })),
      textDelta(' moment.'),
      completed(),
    ],
    deltas: [text('One'), text(' moment.')],
    ending: 'stop',
  },
  {
    name: 'rate limits of which nothing is used up',
    events: [
      frame({ type: 'codex.rate_limits', rate_limits: { primary: { used_percent: 12 }, secondary: null } }),
      created(),
      textDelta('Hi.'),
      completed(),
    ],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
  {
    name: 'a used-up window in an answer that ends well',
    events: [
      created(),
      frame({ type: 'codex.rate_limits', rate_limits: { primary: { used_percent: 100, reset_at: 1_795_140_000 } } }),
      textDelta('Hi.'),
      completed(),
    ],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
];

export const silentEventCases: readonly ResponsesAnswer[] = [...hostedTools, ...others];
