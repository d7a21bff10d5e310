import { args, call, text } from '@gateway/testkit/adapters';
import {
  block,
  end,
  jsonDelta,
  type MessagesAnswer,
  type ProviderBlock,
  type ProviderDelta,
  start,
  textBlock,
  textDelta,
  texts,
  tokens,
  toolBlock,
  usual,
} from './events.ts';

const result = { tool_use_id: 'srvtoolu_01' } as const;
const search: ProviderBlock = { type: 'server_tool_use', id: 'srvtoolu_01', name: 'web_search', input: {} };
const found: ProviderBlock = {
  ...result,
  type: 'web_search_tool_result',
  content: [{ type: 'web_search_result', url: 'https://x.nl', title: 'X', encrypted_content: 'Eo8', page_age: null }],
};

/** What the provider did with tools of its own: no part of a chat answer. */
export const providerToolCases: readonly MessagesAnswer[] = [
  silent('a call of a provider tool', search, jsonDelta(''), jsonDelta('{"query":'), jsonDelta('"weather"}')),
  silent('a call of a provider tool that comes whole', { ...search, input: { query: 'weather' } }),
  silent('the result of a search', found),
  silent('a search that failed', {
    ...result,
    type: 'web_search_tool_result',
    content: { type: 'web_search_tool_result_error', error_code: 'unavailable' },
  }),
  silent('the result of fetching a page', {
    ...result,
    type: 'web_fetch_tool_result',
    content: { type: 'web_fetch_tool_result_error', error_code: 'url_not_accessible' },
  }),
  silent('the result of code', {
    ...result,
    type: 'code_execution_tool_result',
    content: { type: 'code_execution_result', content: [], return_code: 0, stderr: '', stdout: 'not for clients' },
  }),
  silent('the result of a shell command', {
    ...result,
    type: 'bash_code_execution_tool_result',
    content: { type: 'bash_code_execution_result', content: [], return_code: 1, stderr: 'no', stdout: '' },
  }),
  silent('the result of an edit', {
    ...result,
    type: 'text_editor_code_execution_tool_result',
    content: { type: 'text_editor_code_execution_create_result', is_file_update: false },
  }),
  silent('the result of a search for tools', {
    ...result,
    type: 'tool_search_tool_result',
    content: { type: 'tool_search_tool_search_result', tool_references: [{ type: 'tool_reference', tool_name: 'x' }] },
  }),
  silent('the advice of another model', {
    ...result,
    type: 'advisor_tool_result',
    content: { type: 'advisor_result', text: 'not for clients', stop_reason: null },
  }),
  silent(
    'a call of a tool on an MCP server',
    { type: 'mcp_tool_use', id: 'mcptoolu_01', name: 'echo', server_name: 'echo', input: {} },
    jsonDelta('{"a":1}'),
  ),
  silent('the result of an MCP server', {
    type: 'mcp_tool_result',
    tool_use_id: 'mcptoolu_01',
    is_error: false,
    content: [{ type: 'text', text: 'not for clients', citations: null }],
  }),
  silent('the list of tools of an MCP server', { type: 'mcp_tool_listing', mcp_server_name: 'echo', tools: [] }),
  silent('a file in a container', { type: 'container_upload', file_id: 'file_01' }),
  silent(
    'a summary of the conversation',
    { type: 'compaction', content: null, encrypted_content: null },
    { type: 'compaction_delta', content: 'not for clients', encrypted_content: null },
  ),
  silent('the turn to another model', {
    type: 'fallback',
    from: { model: 'claude-fable-5' },
    to: { model: 'claude-opus-5' },
    trigger: { type: 'refusal', category: null },
  }),
  silent('a text delta in such a block', found, textDelta('not for clients')),
  {
    name: 'a search, its result, and the answer',
    everySplit: true,
    events: [
      start(),
      ...textBlock(0, 'Let me look.'),
      ...block(1, search, jsonDelta('{"query":"weather"}')),
      ...block(2, found),
      ...textBlock(3, ' Sunny.'),
      ...end('end_turn', { output_tokens: 9, server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 } }),
    ],
    deltas: texts('Let me look.', ' Sunny.'),
    ending: 'stop',
    usage: tokens({ input: 10, output: 9 }),
  },
  usual({
    name: "a client's tool beside a provider's: only the client's is a call",
    blocks: [
      ...block(0, search, jsonDelta('{"query":"weather"}')),
      ...block(1, found),
      ...toolBlock(2, 'toolu_01', 'look', '{"at":1}'),
    ],
    stopReason: 'tool_use',
    deltas: [call(0, 'toolu_01', 'look'), args(0, '{"at":1}')],
    ending: 'tool_calls',
  }),
  usual({
    name: 'a turn that the provider pauses in the midst of its own tools',
    blocks: [...textBlock(0, 'Looking'), ...block(1, search, jsonDelta('{}'))],
    stopReason: 'pause_turn',
    deltas: [text('Looking')],
  }),
];

function silent(what: string, content: ProviderBlock, ...deltas: readonly ProviderDelta[]): MessagesAnswer {
  return usual({
    name: `left out: ${what}`,
    blocks: [...block(0, content, ...deltas), ...textBlock(1, 'Yes.')],
    deltas: [text('Yes.')],
  });
}
