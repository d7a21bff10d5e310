import type { AnswerShape } from './request-kinds.ts';

/** All that a client has of an answer at its end. */
export interface ReceivedAnswer {
  readonly shape: AnswerShape;
  readonly text: string;
  /** The model's expected text; undefined if the answer is no text. */
  readonly expected: string | undefined;
  /** False if the connection broke off, or the client left. */
  readonly ended: boolean;
}

export interface AnswerReading {
  /** True if the answer itself says that it is complete. */
  readonly whole: boolean;
  /**
   * Faults that no client may ever see: a false end, a second answer, something after an error,
   * another answer's words.
   */
  readonly problem: string | undefined;
}

/** Reads an answer as a strict client does. */
export function readAnswer(answer: ReceivedAnswer): AnswerReading {
  switch (answer.shape) {
    case 'chat_stream':
      return readStream(answer, chatEvent);
    case 'messages_stream':
      return readStream(answer, messagesEvent);
    case 'responses_stream':
      return readStream(answer, responsesEvent);
    case 'chat_whole':
      return readWhole(answer, (json) => json.choices?.[0]?.message?.content);
    case 'messages_whole':
      return readWhole(answer, (json) => json.content?.map(({ text }) => text).join(''));
    case 'token_count':
      return readWhole(answer, () => undefined);
  }
}

/** The members of all formats that are checked. Missing ones are undefined. */
interface AnswerJson {
  readonly id?: string;
  readonly type?: string;
  readonly error?: unknown;
  readonly choices?: readonly {
    readonly finish_reason?: string | null;
    readonly message?: { readonly content?: string };
    readonly delta?: { readonly role?: string; readonly content?: string };
  }[];
  readonly content?: readonly { readonly text?: string }[];
  readonly delta?: string | { readonly text?: string };
}

/** The meaning of one event of a stream. */
interface EventMeaning {
  readonly begins?: boolean;
  readonly text?: string | undefined;
  readonly finishes?: boolean;
  /** The very last event of a complete answer. */
  readonly ends?: boolean;
  /** The very last event of a failed answer. */
  readonly fails?: boolean;
}

function chatEvent(data: string): EventMeaning {
  if (data === '[DONE]') return { ends: true };
  const { error, choices } = parse(data);
  if (error !== undefined) return { fails: true };
  const choice = choices?.[0];
  return {
    begins: choice?.delta?.role !== undefined,
    text: choice?.delta?.content,
    finishes: typeof choice?.finish_reason === 'string',
  };
}

function messagesEvent(data: string): EventMeaning {
  const { type, delta } = parse(data);
  return {
    begins: type === 'message_start',
    text: typeof delta === 'object' ? delta.text : undefined,
    finishes: type === 'message_delta',
    ends: type === 'message_stop',
    fails: type === 'error',
  };
}

function responsesEvent(data: string): EventMeaning {
  const { type, delta } = parse(data);
  return {
    begins: type === 'response.created',
    text: type === 'response.output_text.delta' && typeof delta === 'string' ? delta : undefined,
    finishes: type === 'response.completed',
    ends: type === 'response.completed',
    fails: type === 'response.failed' || type === 'error',
  };
}

function readStream(answer: ReceivedAnswer, meaningOf: (data: string) => EventMeaning): AnswerReading {
  const { expected = '' } = answer;
  const seen = { begins: 0, finishes: 0, ends: 0, fails: 0 };
  let said = '';
  for (const data of eventsOf(answer)) {
    if (seen.ends + seen.fails > 0) return wrong(`an event after the end: ${data}`);
    const meaning = understood(data, meaningOf);
    if (meaning === undefined) return wrong(`an event that can't be read: ${data}`);
    for (const key of counted) if (meaning[key] === true) seen[key] += 1;
    said += meaning.text ?? '';
  }
  if (seen.begins > 1 || seen.finishes > 1) return wrong(`${seen.begins} beginnings and ${seen.finishes} ends`);
  if (!expected.startsWith(said))
    return wrong(`it said ${JSON.stringify(said)} instead of ${JSON.stringify(expected)}`);
  if (seen.ends === 0 && seen.fails === 0 && answer.ended)
    return wrong(`no end and no error after ${JSON.stringify(said)}`);
  if (seen.ends === 0) return { whole: false, problem: undefined };
  if (said !== expected || seen.finishes === 0) return wrong(`a false end after ${JSON.stringify(said)}`);
  return { whole: true, problem: undefined };
}

const counted = ['begins', 'finishes', 'ends', 'fails'] as const;

/**
 * The data of every complete event. The rest after the last one was cut off, or is an event that
 * never ended.
 */
function eventsOf({ text, ended }: ReceivedAnswer): readonly string[] {
  const pieces = text.split('\n\n');
  const rest = pieces.pop() ?? '';
  const blocks = ended && rest !== '' ? [...pieces, rest] : pieces;
  return blocks.flatMap((block) => {
    const lines = block.split('\n').filter((line) => line.startsWith('data:'));
    return lines.length === 0 ? [] : [lines.map((line) => line.slice('data:'.length).trim()).join('\n')];
  });
}

function understood(data: string, meaningOf: (data: string) => EventMeaning): EventMeaning | undefined {
  try {
    return meaningOf(data);
  } catch {
    return undefined;
  }
}

function readWhole({ text, ended, expected }: ReceivedAnswer, textOf: (json: AnswerJson) => string | undefined) {
  let json: AnswerJson;
  try {
    json = parse(text);
  } catch {
    // An answer with a proper end must be complete. An answer that was cut has no such end.
    return ended ? wrong(`half an answer that ended properly: ${text}`) : { whole: false, problem: undefined };
  }
  const said = textOf(json);
  if (expected !== undefined && said !== expected) return wrong(`it said ${JSON.stringify(said)}`);
  return { whole: ended, problem: undefined };
}

function parse(text: string): AnswerJson {
  return JSON.parse(text) as AnswerJson;
}

function wrong(problem: string): AnswerReading {
  return { whole: false, problem };
}
