import type Anthropic from '@anthropic-ai/sdk';
import { readJsonBody } from '@gateway/json';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { mayFetch } from './fetched-content.ts';

const fetches = (body: Readonly<Record<string, unknown>>) =>
  mayFetch(readJsonBody(Buffer.from(JSON.stringify({ model: 'm', ...body }))));
const asks = (content: unknown) => fetches({ messages: [{ role: 'user', content }] });
const gives = (item: unknown) => fetches({ input: [item] });
const offers = (tool: unknown) => fetches({ tools: [tool] });

type AllKeys<T> = T extends unknown ? keyof T : never;
type TypeOf<T> = T extends { type?: infer Type } ? Extract<Type, string> : never;
/** Fails to compile as long as one of the SDK's names is in no list. */
type Unlisted<All, Listed extends readonly unknown[]> = Exclude<All, Listed[number]> extends never ? [] : All;

describe('a request whose provider may fetch content', () => {
  /** These three are headers. */
  type InHeaders = 'betas' | 'user_profile_id' | 'workspace_id';
  type Member = Exclude<AllKeys<Anthropic.Beta.MessageCreateParams | OpenAI.Responses.ResponseCreateParams>, InHeaders>;
  const fetchingMembers = [
    ...(['compaction', 'container', 'conversation', 'fallbacks', 'mcp_servers', 'previous_response_id'] as const),
    ...(['prompt', 'thread'] as const),
  ] as const;
  const plainMembers = [
    ...(['access_programs', 'background', 'billing_policy', 'cache_control', 'diagnostics', 'image'] as const),
    ...(['fallback_credit_token', 'include', 'inference_geo', 'max_output_tokens', 'max_tokens'] as const),
    ...(['max_tool_calls', 'metadata', 'model', 'moderation', 'output_config', 'output_format'] as const),
    ...(['parallel_tool_calls', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'] as const),
    ...(['reasoning', 'safety_identifier', 'service_tier', 'speed', 'stop_sequences', 'store', 'stream'] as const),
    ...(['stream_options', 'temperature', 'text', 'thinking', 'tool_choice', 'top_logprobs', 'top_p'] as const),
    ...(['truncation', 'user'] as const),
  ] as const;
  const contentMembers = ['context_management', 'input', 'instructions', 'messages', 'system', 'tools'] as const;
  const all: Unlisted<Member, [...typeof fetchingMembers, ...typeof plainMembers, ...typeof contentMembers]> = [];

  it('is recognised by each parameter that the SDKs know, and by any that they do not know', () => {
    expect(all).toEqual([]);
    expect(fetchingMembers.filter((name) => !fetches({ [name]: 'some-id' }))).toEqual([]);
    expect(plainMembers.filter((name) => fetches({ [name]: { type: 'some' } }))).toEqual([]);
    expect(contentMembers.filter((name) => fetches({ [name]: 'text' }) !== (name === 'context_management'))).toEqual(
      [],
    );
    expect(fetches({ memory_of_next_year: 'some-id' })).toBe(true);
  });

  it.each([null, false, '', [], {}])('is not recognised by a parameter that is %j', (nothing) => {
    for (const name of fetchingMembers) expect(fetches({ [name]: nothing })).toBe(false);
  });

  type Block =
    | TypeOf<Anthropic.Beta.BetaContentBlockParam>
    | TypeOf<OpenAI.Responses.ResponseInputContent>
    | TypeOf<OpenAI.Responses.ResponseInputItem>;
  const fetchingBlocks = [
    ...(['advisor_tool_result', 'bash_code_execution_tool_result', 'code_execution_tool_result'] as const),
    ...(['container_upload', 'fallback', 'mcp_tool_listing', 'mcp_tool_result', 'mcp_tool_use'] as const),
    ...([
      'text_editor_code_execution_tool_result',
      'tool_addition',
      'tool_removal',
      'tool_search_tool_result',
    ] as const),
    ...(['web_fetch_tool_result', 'input_file', 'code_interpreter_call', 'compaction_trigger'] as const),
    ...(['configuration_update', 'file_search_call', 'image_generation_call', 'item_reference'] as const),
    ...(['mcp_approval_request', 'mcp_approval_response', 'mcp_call', 'mcp_list_tools', 'program'] as const),
    ...(['program_output'] as const),
  ] as const;
  const plainBlocks = [
    ...(['compaction', 'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text'] as const),
    ...(['thinking', 'tool_result', 'tool_use', 'web_search_tool_result', 'input_image', 'input_text'] as const),
    ...(['additional_tools', 'apply_patch_call', 'apply_patch_call_output', 'computer_call', 'message'] as const),
    ...(['computer_call_output', 'custom_tool_call', 'custom_tool_call_output', 'function_call'] as const),
    ...(['function_call_output', 'local_shell_call', 'local_shell_call_output', 'reasoning', 'shell_call'] as const),
    ...(['shell_call_output', 'tool_search_call', 'tool_search_output', 'web_search_call'] as const),
  ] as const;
  const allBlocks: Unlisted<Block, [...typeof fetchingBlocks, ...typeof plainBlocks]> = [];

  it('is recognised by each block and item that the SDKs know, and by any that they do not know', () => {
    expect(allBlocks).toEqual([]);
    for (const place of [(type: string) => asks([{ type }]), (type: string) => gives({ type })]) {
      expect(fetchingBlocks.filter((type) => !place(type))).toEqual([]);
      expect(plainBlocks.filter((type) => place(type))).toEqual([]);
      expect(place('video_of_next_year')).toBe(true);
    }
  });

  type Tool = TypeOf<Anthropic.Beta.BetaToolUnion> | TypeOf<OpenAI.Responses.Tool>;
  type OfClient = `${'bash' | 'computer' | 'memory' | 'text_editor'}_${number}`;
  const plainTools = [
    ...(['apply_patch', 'computer', 'computer_use_preview', 'custom', 'function', 'local_shell', 'namespace'] as const),
  ] as const;
  const fetchingTools = [
    ...(['advisor_20260301', 'browser_toolset_20260801', 'code_execution_20250522', 'code_interpreter'] as const),
    ...(['code_execution_20250825', 'code_execution_20260120', 'code_execution_20260521', 'file_search'] as const),
    ...(['computer_toolset_20260801', 'image_generation', 'mcp', 'mcp_toolset', 'shell', 'tool_search'] as const),
    ...(['programmatic_tool_calling', 'tool_search_tool_bm25', 'tool_search_tool_bm25_20251119'] as const),
    ...(['tool_search_tool_regex', 'tool_search_tool_regex_20251119', 'web_fetch_20250910'] as const),
    ...(['web_fetch_20260209', 'web_fetch_20260309', 'web_fetch_20260318', 'web_search'] as const),
    ...(['web_search_20250305', 'web_search_2025_08_26', 'web_search_20260209', 'web_search_20260318'] as const),
    ...(['web_search_preview', 'web_search_preview_2025_03_11'] as const),
  ] as const;
  const allTools: Unlisted<Exclude<Tool, OfClient>, [...typeof plainTools, ...typeof fetchingTools]> = [];

  it('is recognised by each tool that the provider runs, and by any that the SDKs do not know', () => {
    expect(allTools).toEqual([]);
    expect(fetchingTools.filter((type) => !offers({ type }))).toEqual([]);
    expect(plainTools.filter((type) => offers({ type, name: 'f' }))).toEqual([]);
    expect(['bash_20250124', 'memory_20250818', 'text_editor_20300101'].filter((type) => offers({ type }))).toEqual([]);
    expect(offers({ name: 'f', input_schema: { type: 'object', properties: { type: { type: 'url' } } } })).toBe(false);
    expect(offers({ type: 'namespace', tools: [{ type: 'mcp' }] })).toBe(true);
  });

  it('has an image, document or file by its address or id, however deep', () => {
    const url = { type: 'url', url: 'https://example.com/a.pdf' };
    const file = { type: 'file', file_id: 'file-1' };
    for (const source of [url, file]) {
      const image = { type: 'image', source };
      expect([asks([image]), asks([{ type: 'document', source }])]).toEqual([true, true]);
      expect(asks([{ type: 'tool_result', tool_use_id: 't', content: [image] }])).toBe(true);
      expect(asks([{ type: 'document', source: { type: 'content', content: [image] } }])).toBe(true);
      expect(fetches({ system: [image] })).toBe(true);
    }
    const message = (part: unknown) => gives({ role: 'user', content: [part] });
    expect(message({ type: 'input_image', image_url: 'https://example.com/a.png' })).toBe(true);
    expect(message({ type: 'input_image', file_id: 'file-1' })).toBe(true);
    expect(gives({ type: 'function_call_output', output: [{ type: 'input_image', file_id: 'file-1' }] })).toBe(true);
    expect(gives({ type: 'computer_call_output', output: { type: 'computer_screenshot', file_id: 'f' } })).toBe(true);
    expect(asks([{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }])).toBe(true);
  });

  it('has a PDF, which may have any number of pages, and edits that summarise', () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0' };
    expect(asks([{ type: 'document', source }])).toBe(true);
    expect(fetches({ context_management: { edits: [{ type: 'compact_20260112' }] } })).toBe(true);
    expect(fetches({ context_management: [{ type: 'compaction', compact_threshold: 1_000 }] })).toBe(true);
    expect(fetches({ context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } })).toBe(false);
  });

  it('is not one that brings its content along', () => {
    const image = { type: 'base64', media_type: 'image/png', data: 'iVBORw0' };
    expect(asks('Read https://example.com, file_id: 7')).toBe(false);
    expect(asks([{ type: 'image', source: image, cache_control: { type: 'ephemeral' } }])).toBe(false);
    expect(asks([{ type: 'tool_use', id: 't', name: 'f', input: { type: 'url', file_id: 'x' } }])).toBe(false);
    expect(asks([{ type: 'text', text: 'Hi', citations: [{ type: 'char_location', file_id: 'x' }] }])).toBe(false);
    expect(asks([{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0' } }])).toBe(false);
    expect(gives({ type: 'message', content: [{ type: 'input_image', image_url: 'data:image/png;base64,iV' }] })).toBe(
      false,
    );
    expect(gives({ type: 'web_search_call', action: { type: 'open_page', url: 'https://example.com' } })).toBe(false);
  });

  it('is one that is too large to be looked through', () => {
    expect(asks('a'.repeat(500 * 1024))).toBe(false);
    expect(asks('a'.repeat(513 * 1024))).toBe(true);
  });
});
