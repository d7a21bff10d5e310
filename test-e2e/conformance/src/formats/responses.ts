import type { ServerSentEvent } from '../target/streamed-answer.ts';
import { type Format, type Prompt, type Reply, type ReplyUsage, type ToolCall, turnsBefore } from './format.ts';
import { Found, foundIn, ofType } from './found.ts';

export const responses: Format = {
  endpoint: 'responses',
  asksForUsage: {},

  request: (model, prompt) => ({
    model,
    store: false,
    ...(prompt.system !== undefined && { instructions: prompt.system }),
    input: [
      ...turnsBefore(prompt).map(({ role, text }) => ({ type: 'message', role, content: [textPart(role, text)] })),
      { type: 'message', role: 'user', content: userContent(prompt) },
      ...toolItems(prompt),
      ...(prompt.turnsAfter ?? []),
    ],
    ...(prompt.tools && {
      tools: prompt.tools.map(({ name, description, schema }) => ({
        type: 'function',
        name,
        description,
        parameters: schema,
        strict: false,
      })),
    }),
    ...(prompt.maxTokens !== undefined && { max_output_tokens: prompt.maxTokens }),
    ...prompt.more,
  }),

  readReply: (answer): Reply => responseRead(answer, answer.at('output').list),

  readUsage: usageOf,

  /**
   * From the finished items, which agents read; other checks compare `response.completed` with
   * them.
   */
  readStream(events): Reply {
    const all = responseEvents(events);
    const items = ofType(all, 'response.output_item.done');
    const last = all.findLast((event) => terminals.includes(event.at('type').string));
    return responseRead(
      last?.at('response') ?? new Found(undefined, 'the last event of the stream'),
      items.map((event) => event.at('item')),
    );
  },
};

/** The events that may end a stream. */
export const terminals: readonly string[] = ['response.completed', 'response.incomplete', 'response.failed'];

/** The events of a stream; a `[DONE]`, which some gateways add, is no event. */
export function responseEvents(events: readonly ServerSentEvent[]): readonly Found[] {
  return foundIn(
    events.filter(({ data }) => data !== '[DONE]' && data !== ''),
    'event',
  );
}

/** The texts of the parts of one type in the items of one type, joined. */
function textOfItems(items: readonly Found[]): string {
  const parts = ofType(items, 'message').flatMap((item) => item.at('content').list);
  return ofType(parts, 'output_text')
    .map((part) => part.at('text').string)
    .join('');
}

function responseRead(response: Found, items: readonly Found[]): Reply {
  const calls = ofType(items, 'function_call');
  return {
    text: textOfItems(items),
    toolCalls: calls.map(
      (item): ToolCall => ({
        id: item.at('call_id').name,
        name: item.at('name').name,
        arguments: item.at('arguments').string,
      }),
    ),
    finish: finishOf(response, calls.length > 0),
    usage: usageOf(response.at('usage')),
  };
}

const incomplete: Readonly<Record<string, string>> = { max_output_tokens: 'length', content_filter: 'content-filter' };

function finishOf(response: Found, called: boolean): string {
  const status = response.at('status').string;
  if (status === 'completed') return called ? 'tool-calls' : 'stop';
  if (status !== 'incomplete') return status;
  const reason = response.at('incomplete_details', 'reason').string;
  return incomplete[reason] ?? reason;
}

function usageOf(usage: Found): ReplyUsage | undefined {
  if (!usage.isThere) return undefined;
  return {
    input: usage.at('input_tokens').count,
    cached: usage.at('input_tokens_details', 'cached_tokens').countOrNone,
    output: usage.at('output_tokens').count,
    reasoning: usage.at('output_tokens_details', 'reasoning_tokens').countOrNone,
    total: usage.at('total_tokens').count,
  };
}

const textPart = (role: 'user' | 'assistant', text: string) =>
  role === 'user' ? { type: 'input_text', text } : { type: 'output_text', text, annotations: [] };

function userContent({ text, images = [] }: Prompt): unknown {
  const pictures = images.map((image) => ({ type: 'input_image', image_url: image, detail: 'auto' }));
  return [{ type: 'input_text', text }, ...pictures];
}

function toolItems({ toolResults = [] }: Prompt): readonly unknown[] {
  return [
    ...toolResults.map((call) => ({
      type: 'function_call',
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
    })),
    ...toolResults.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result })),
  ];
}
