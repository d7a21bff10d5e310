import type { ServerSentEvent } from '../target/streamed-answer.ts';
import { must } from '../verdict.ts';
import { type Format, type Prompt, type Reply, type ReplyUsage, type ToolCall, turnsBefore } from './format.ts';
import { Found, foundIn, ofType } from './found.ts';

export const messages: Format = {
  endpoint: 'messages',
  asksForUsage: {},

  request: (model, prompt) => ({
    model,
    max_tokens: prompt.maxTokens ?? 1024,
    ...(prompt.system !== undefined && { system: prompt.system }),
    messages: [
      ...turnsBefore(prompt).map(({ role, text }) => ({ role, content: text })),
      { role: 'user', content: userContent(prompt) },
      ...toolTurns(prompt),
      ...(prompt.turnsAfter ?? []),
    ],
    ...(prompt.tools && {
      tools: prompt.tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    }),
    ...prompt.more,
  }),

  readReply: (answer): Reply => ({
    ...blocksRead(answer.at('content').list),
    finish: finishOf(answer.at('stop_reason')),
    usage: usageOf(answer.at('usage')),
  }),

  readUsage: usageOf,

  readStream(events): Reply {
    const all = messageEvents(events);
    const delta = ofType(all, 'message_delta').at(-1);
    const [start] = ofType(all, 'message_start');
    return {
      ...blocksRead(blocksOf(all)),
      finish: finishOf(delta?.at('delta', 'stop_reason') ?? new Found(undefined, 'the message_delta event')),
      usage: streamedUsage(start?.at('message', 'usage'), delta?.at('usage')),
    };
  },
};

/** The events that the SDK reads: events with a name, without pings. */
export function messageEvents(events: readonly ServerSentEvent[]): readonly Found[] {
  return foundIn(
    events.filter(({ event, data }) => event !== undefined && event !== 'ping' && data !== ''),
    'event',
  );
}

/** The content blocks of the events, each as in a whole message. */
function blocksOf(events: readonly Found[]): readonly Found[] {
  const blocks: Record<string, unknown>[] = [];
  for (const event of events) {
    const type = event.at('type').value;
    if (type === 'content_block_start') {
      const index = event.at('index').count;
      must(index === blocks.length, `content block ${blocks.length} should come next; block ${index} starts`);
      blocks.push({ ...event.at('content_block').object });
    }
    if (type === 'content_block_delta') addDelta(blocks, event);
  }
  return blocks.map((block, index) => new Found(withParsedInput(block), `content block ${index} of the stream`));
}

const joined: Readonly<Record<string, readonly [from: string, to: string]>> = {
  text_delta: ['text', 'text'],
  input_json_delta: ['partial_json', 'json'],
  thinking_delta: ['thinking', 'thinking'],
};

function addDelta(blocks: readonly Record<string, unknown>[], event: Found): void {
  const index = event.at('index').count;
  const block = blocks[index];
  must(block !== undefined, `a delta came for content block ${index}, which has not started`);
  const fields = joined[event.at('delta', 'type').name];
  if (fields === undefined) return;
  const [from, to] = fields;
  block[to] = `${block[to] ?? ''}${event.at('delta', from).string}`;
}

function withParsedInput(block: Readonly<Record<string, unknown>>): unknown {
  if (block.type !== 'tool_use' || typeof block.json !== 'string' || block.json === '') return block;
  const { json, ...rest } = block;
  try {
    return { ...rest, input: JSON.parse(json) };
  } catch {
    throw new Found(json, 'the joined partial_json').not('JSON');
  }
}

function blocksRead(blocks: readonly Found[]): Pick<Reply, 'text' | 'toolCalls'> {
  return {
    text: ofType(blocks, 'text')
      .map((block) => block.at('text').string)
      .join(''),
    toolCalls: ofType(blocks, 'tool_use').map(
      (block): ToolCall => ({
        id: block.at('id').name,
        name: block.at('name').name,
        arguments: JSON.stringify(block.at('input').object),
      }),
    ),
  };
}

const finishes: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool-calls',
  refusal: 'content-filter',
};

const finishOf = (reason: Found) => finishes[reason.string] ?? reason.string;

function usageOf(usage: Found): ReplyUsage | undefined {
  if (!usage.isThere) return undefined;
  const cached = usage.at('cache_read_input_tokens').countOrNone;
  const written = usage.at('cache_creation_input_tokens').countOrNone ?? 0;
  return {
    input: usage.at('input_tokens').count + (cached ?? 0) + written,
    cached,
    output: usage.at('output_tokens').count,
    reasoning: usage.at('output_tokens_details', 'thinking_tokens').countOrNone,
    total: undefined,
  };
}

/** As the SDK does: the values of `message_delta` replace those of `message_start`. */
function streamedUsage(start: Found | undefined, delta: Found | undefined): ReplyUsage | undefined {
  if (start === undefined || delta === undefined) return undefined;
  const said = Object.entries(delta.object).filter(([, value]) => value !== null);
  return usageOf(new Found({ ...start.object, ...Object.fromEntries(said) }, 'the usage of the stream'));
}

function userContent({ text, images }: Prompt): unknown {
  if (images === undefined) return text;
  return [...images.map((image) => ({ type: 'image', source: imageSource(image) })), { type: 'text', text }];
}

function imageSource(image: string): unknown {
  const [, mediaType, data] = /^data:([^;]+);base64,(.*)$/.exec(image) ?? [];
  return data === undefined ? { type: 'url', url: image } : { type: 'base64', media_type: mediaType, data };
}

function toolTurns({ toolResults = [] }: Prompt): readonly unknown[] {
  if (toolResults.length === 0) return [];
  const calls = toolResults.map((call) => ({
    type: 'tool_use',
    id: call.id,
    name: call.name,
    input: JSON.parse(call.arguments),
  }));
  const results = toolResults.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result }));
  return [
    { role: 'assistant', content: calls },
    { role: 'user', content: results },
  ];
}
