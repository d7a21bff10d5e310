import type OpenAI from 'openai';
import type { ProviderStreamEvent } from './provider-events.ts';

export type ProviderResponse = OpenAI.Responses.Response;
type IncompleteReason = NonNullable<OpenAI.Responses.Response.IncompleteDetails['reason']>;
type FailureCode = OpenAI.Responses.ResponseError['code'];

/** A response object as in `created` and `in_progress`, with the members that a case sets. */
function response(members: Partial<ProviderResponse> = {}): ProviderResponse {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_795_132_800,
    status: 'in_progress',
    access_programs: null,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: null,
    model: 'gpt-5.5',
    output: [],
    output_text: '',
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    ...members,
  };
}

export function created(members?: Partial<ProviderResponse>): ProviderStreamEvent {
  return { type: 'response.created', sequence_number: 0, response: response(members) };
}

/** Its output is empty, as on subscription backends, unless a case sets it. */
export function completed(members?: Partial<ProviderResponse>): ProviderStreamEvent {
  return { type: 'response.completed', sequence_number: 0, response: response({ status: 'completed', ...members }) };
}

export function incomplete(reason?: IncompleteReason, members?: Partial<ProviderResponse>): ProviderStreamEvent {
  const ended = {
    status: 'incomplete',
    incomplete_details: reason === undefined ? {} : { reason },
    ...members,
  } as const;
  return { type: 'response.incomplete', sequence_number: 0, response: response(ended) };
}

export function failed(code: FailureCode, members?: Partial<ProviderResponse>): ProviderStreamEvent {
  const ended = { status: 'failed', error: { code, message: 'Text of the provider.' }, ...members } as const;
  return { type: 'response.failed', sequence_number: 0, response: response(ended) };
}

interface Tokens {
  readonly input: number;
  readonly cached?: number;
  readonly output: number;
  readonly reasoning?: number;
}

/** A report of usage in the provider's format. */
export function usageReport({ input, cached = 0, output, reasoning = 0 }: Tokens): OpenAI.Responses.ResponseUsage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
