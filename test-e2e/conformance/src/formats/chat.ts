import type { ServerSentEvent } from '../target/streamed-answer.ts';
import { must } from '../verdict.ts';
import { type Format, type Prompt, type Reply, type ReplyUsage, type ToolCall, turnsBefore } from './format.ts';
import { Found, foundIn } from './found.ts';

export const chat: Format = {
  endpoint: 'chat',
  asksForUsage: { stream_options: { include_usage: true } },

  request: (model, prompt) => ({
    model,
    messages: [
      ...(prompt.system === undefined ? [] : [{ role: 'system', content: prompt.system }]),
      ...turnsBefore(prompt).map(({ role, text }) => ({ role, content: text })),
      { role: 'user', content: userContent(prompt) },
      ...toolTurns(prompt),
      ...(prompt.turnsAfter ?? []),
    ],
    ...(prompt.tools && { tools: prompt.tools.map(asTool) }),
    ...(prompt.maxTokens !== undefined && { max_completion_tokens: prompt.maxTokens }),
    ...prompt.more,
  }),

  readReply(answer): Reply {
    const choice = answer.at('choices', 0);
    return {
      text: choice.at('message', 'content').textOrNone,
      toolCalls: choice.at('message', 'tool_calls').listOrNone.map(toolCall),
      finish: finishOf(choice.at('finish_reason')),
      usage: usageOf(answer.at('usage')),
    };
  },

  readUsage: usageOf,

  readStream(events): Reply {
    const chunks = chunksOf(events);
    const deltas = chunks.flatMap((chunk) => chunk.at('choices').list).map((choice) => choice.at('delta'));
    const finish = chunks.map((chunk) => chunk.at('choices', 0, 'finish_reason')).find((reason) => reason.isThere);
    return {
      text: deltas.map((delta) => delta.at('content').textOrNone).join(''),
      toolCalls: joinedToolCalls(deltas),
      finish: finishOf(finish ?? new Found(undefined, 'the finish_reason of the stream')),
      usage: usageOf(chunks.map((chunk) => chunk.at('usage')).findLast((usage) => usage.isThere)),
    };
  },
};

export const DONE = '[DONE]';

/** The chunks of a stream, without `[DONE]`. */
export function chunksOf(events: readonly ServerSentEvent[]): readonly Found[] {
  return foundIn(
    events.filter(({ data }) => data !== DONE),
    'chunk',
  );
}

const finishes: Readonly<Record<string, string>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  content_filter: 'content-filter',
};

const finishOf = (reason: Found) => finishes[reason.string] ?? reason.string;

function userContent({ text, images }: Prompt): unknown {
  if (images === undefined) return text;
  return [{ type: 'text', text }, ...images.map((url) => ({ type: 'image_url', image_url: { url } }))];
}

const asTool = ({ name, description, schema }: NonNullable<Prompt['tools']>[number]) => ({
  type: 'function',
  function: { name, description, parameters: schema },
});

function toolTurns({ toolResults = [] }: Prompt): readonly unknown[] {
  if (toolResults.length === 0) return [];
  const calls = toolResults.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  return [
    { role: 'assistant', content: null, tool_calls: calls },
    ...toolResults.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
  ];
}

const toolCall = (call: Found): ToolCall => ({
  id: call.at('id').name,
  name: call.at('function', 'name').name,
  arguments: call.at('function', 'arguments').string,
});

/** Assembled as the SDK does: by `index`, with id and name from the first piece that has them. */
function joinedToolCalls(deltas: readonly Found[]): readonly ToolCall[] {
  const pieces = deltas.flatMap((delta) => delta.at('tool_calls').listOrNone);
  const byIndex = Map.groupBy(pieces, (piece) => piece.at('index').count);
  const indexes = [...byIndex.keys()];
  const inOrder = indexes.every((index, position) => index === position);
  must(inOrder, `tool calls should be numbered 0, 1, 2… in their order; the stream has ${indexes.join(', ')}`);
  return [...byIndex.values()].map((ofCall) => ({
    id: firstThere(ofCall.map((piece) => piece.at('id'))).name,
    name: firstThere(ofCall.map((piece) => piece.at('function', 'name'))).name,
    arguments: ofCall.map((piece) => piece.at('function', 'arguments').textOrNone).join(''),
  }));
}

const firstThere = (found: readonly Found[]) =>
  found.find((one) => one.isThere) ?? found[0] ?? new Found(undefined, 'the tool call');

function usageOf(usage: Found | undefined): ReplyUsage | undefined {
  if (!usage?.isThere) return undefined;
  return {
    input: usage.at('prompt_tokens').count,
    cached: usage.at('prompt_tokens_details', 'cached_tokens').countOrNone,
    output: usage.at('completion_tokens').count,
    reasoning: usage.at('completion_tokens_details', 'reasoning_tokens').countOrNone,
    total: usage.at('total_tokens').count,
  };
}
