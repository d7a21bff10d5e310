import { type BenchFormat, eventsOfStream, modelOf, type Pace, paces, providerFormats } from '../wire/bench-models.ts';

/** The format of an answer. A proxy that translates nothing forwards chat completions unchanged. */
export type AnswerShape = BenchFormat | 'chat';

/** The bytes of an answer, made once. */
export interface FixedAnswer {
  /** Status, headers and body of the answer in one piece. */
  readonly whole: Buffer;
  readonly streamHead: Buffer;
  /** Events as chunks of the transfer coding, in order. */
  readonly events: readonly Buffer[];
  readonly streamEnd: Buffer;
}

/** The answers of a pace in every format. */
export function fixedAnswers(pace: Pace): Readonly<Record<AnswerShape, FixedAnswer>> {
  return { responses: responsesAnswer(pace), messages: messagesAnswer(pace), chat: chatAnswer(pace) };
}

/** The list of models, in a form for both providers. */
export function modelList(): Buffer {
  const ids = providerFormats.flatMap((format) => paces.map((pace) => modelOf(format, pace)));
  const data = ids.map((id) => ({
    id,
    type: 'model',
    object: 'model',
    display_name: id,
    created: 1_767_225_600,
    created_at: '2026-01-01T00:00:00Z',
    owned_by: 'system',
  }));
  return jsonAnswer({ object: 'list', data, has_more: false, first_id: ids[0], last_id: ids.at(-1) });
}

/** 640 characters: with its envelope an answer of a little more than 1 KB. */
const shortText = 'The quick brown fox jumps over a lazy dog, twice a day. '.repeat(12).slice(0, 640);

/** Real deltas have a few characters. */
function deltasOf(pace: Pace, otherEvents: number): readonly string[] {
  if (pace === 'short') return Array.from({ length: 8 }, (_, index) => shortText.slice(index * 80, index * 80 + 80));
  return Array.from({ length: eventsOfStream - otherEvents }, (_, index) => ` word${index % 10}`);
}

function responsesAnswer(pace: Pace): FixedAnswer {
  const deltas = deltasOf(pace, 8);
  const text = deltas.join('');
  const part = { type: 'output_text', annotations: [], logprobs: [] };
  const item = { id: 'msg_bench', type: 'message', role: 'assistant' };
  const finished = { ...item, status: 'completed', content: [{ ...part, text }] };
  const place = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
  const usage = {
    input_tokens: 250,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 200,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 450,
  };
  const started = responseObject(pace, { status: 'in_progress', output: [], usage: null });
  const completed = responseObject(pace, { status: 'completed', output: [finished], usage });
  const events: readonly object[] = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    ...deltas.map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...place, text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: { ...part, text } },
    { type: 'response.output_item.done', output_index: 0, item: finished },
    { type: 'response.completed', response: completed },
  ];
  const numbered = events.map((event, index) => ({ ...event, sequence_number: index }));
  return fixedAnswer(completed, numbered.map(namedEvent));
}

function responseObject(pace: Pace, state: object): object {
  return {
    id: 'resp_bench',
    object: 'response',
    created_at: 1_767_225_600,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: modelOf('responses', pace),
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    ...state,
  };
}

function messagesAnswer(pace: Pace): FixedAnswer {
  const deltas = deltasOf(pace, 6);
  const usage = { input_tokens: 250, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const message = { model: modelOf('messages', pace), id: 'msg_bench', type: 'message', role: 'assistant' };
  const open = { stop_reason: null, stop_sequence: null };
  const closed = { stop_reason: 'end_turn', stop_sequence: null };
  const events: readonly object[] = [
    { type: 'message_start', message: { ...message, ...open, content: [], usage: { ...usage, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    ...deltas.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: closed, usage: { ...usage, output_tokens: 200 } },
    { type: 'message_stop' },
  ];
  const whole = { ...message, ...closed, content: [{ type: 'text', text: deltas.join('') }], usage };
  return fixedAnswer({ ...whole, usage: { ...usage, output_tokens: 200 } }, events.map(namedEvent));
}

function chatAnswer(pace: Pace): FixedAnswer {
  const deltas = deltasOf(pace, 3);
  const shell = { id: 'chatcmpl-bench', created: 1_767_225_600, model: modelOf('responses', pace) };
  const chunk = (delta: object, finish_reason: string | null) => ({
    ...shell,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const chunks = [
    chunk({ role: 'assistant', content: '' }, null),
    ...deltas.map((content) => chunk({ content }, null)),
    chunk({}, 'stop'),
  ];
  const message = { role: 'assistant', content: deltas.join(''), refusal: null };
  const usage = { prompt_tokens: 250, completion_tokens: 200, total_tokens: 450 };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const events = [...chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`), 'data: [DONE]\n\n'];
  return fixedAnswer({ ...shell, object: 'chat.completion', choices, usage }, events);
}

function namedEvent(event: object): string {
  const type = 'type' in event ? String(event.type) : 'message';
  return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function fixedAnswer(whole: object, events: readonly string[]): FixedAnswer {
  return {
    whole: jsonAnswer(whole),
    streamHead: Buffer.from(
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n',
    ),
    events: events.map((text) => Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)),
    streamEnd: Buffer.from('0\r\n\r\n'),
  };
}

function jsonAnswer(body: object): Buffer {
  const text = JSON.stringify(body);
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nrequest-id: req_bench\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}
