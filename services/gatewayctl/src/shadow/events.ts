import type { StreamEvent } from './send.ts';

/**
 * The kinds of events in order, with repetitions as one: a stream of any length has the same
 * sequence. Pings are left out.
 */
export function eventSequence(events: readonly StreamEvent[]): readonly string[] {
  return withoutRepetition(events.flatMap(kindsOf).filter((kind) => kind !== 'ping'));
}

/** The same, with one kind for all events of the output: models choose what they answer with. */
export function outlineOf(sequence: readonly string[]): readonly string[] {
  return withoutRepetition(sequence.map((kind) => (isOutput(kind) ? 'output' : kind)));
}

/** The kind of an event by its data. Chunks of chat completions have one kind for each part. */
function kindsOf({ name, data }: StreamEvent): readonly string[] {
  if (typeof data === 'string') return [data === '[DONE]' ? data : 'text'];
  const { type, object, error } = membersOf(data);
  if (object === 'chat.completion.chunk') return partsOfChunk(data);
  if (error !== undefined && type === undefined) return ['error'];
  return [typeof type === 'string' ? type : name || 'data'];
}

function partsOfChunk(chunk: unknown): readonly string[] {
  const { choices, usage } = membersOf(chunk);
  const [choice] = Array.isArray(choices) ? choices : [];
  const { delta, finish_reason } = membersOf(choice);
  const { role, content, tool_calls, reasoning_content } = membersOf(delta);
  return [
    ...(role ? ['role'] : []),
    ...(reasoning_content ? ['reasoning'] : []),
    ...(content ? ['content'] : []),
    ...(tool_calls ? ['tool_calls'] : []),
    ...(finish_reason ? ['finish_reason'] : []),
    ...(usage ? ['usage'] : []),
  ];
}

function isOutput(kind: string): boolean {
  if (['content', 'tool_calls', 'reasoning'].includes(kind) || kind.startsWith('content_block_')) return true;
  return /^response\.(?!created$|queued$|in_progress$|completed$|incomplete$|failed$)/.test(kind);
}

/** `a b c b c d d` becomes `a b c d`. */
function withoutRepetition(kinds: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const kind of kinds) {
    kept.push(kind);
    for (let length = 1; length <= longestCycle && 2 * length <= kept.length; length += 1) {
      const last = kept.slice(-length);
      const before = kept.slice(-2 * length, -length);
      if (last.every((each, index) => each === before[index])) {
        kept.length -= length;
        break;
      }
    }
  }
  return kept;
}

/** An item of a response has this many kinds of events at most. */
const longestCycle = 8;

/** The members of an object; none of any other value. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}
