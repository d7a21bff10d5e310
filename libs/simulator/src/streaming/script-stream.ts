import type { EndingFault } from '../faults/fault-book.ts';
import type { FaultOf } from '../faults/fault-script.ts';
import type { Answer, NamedEvent, ProviderError, ProviderEvent, ProviderFormat } from '../provider-format.ts';

/** One thing to do on the way of a stream. */
export type StreamStep =
  | { readonly kind: 'event'; readonly event: ProviderEvent }
  /** Bytes that are not one of the answer's events. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'wait'; readonly durationMs: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'stall' }
  | { readonly kind: 'endless_line'; readonly bytes: number };

/** How a stream ran: as it should, or with less than the whole answer. */
export type StreamEnd = 'completed' | 'faulted';

export interface StreamScript {
  readonly format: ProviderFormat;
  readonly answer: Answer;
  readonly beforeFirstEventMs: number;
  readonly betweenEventsMs: number;
  readonly unknownEvents: boolean;
  readonly ending: StreamFault | undefined;
}

export type StreamFault = Exclude<EndingFault, { kind: 'status' }>;

/** The steps of one streamed answer, with its faults at their places. */
export function* scriptStream(script: StreamScript): Generator<StreamStep, StreamEnd> {
  const { ending, format, answer } = script;
  let sent = 0;
  let broken = false;
  if (script.beforeFirstEventMs > 0) yield { kind: 'wait', durationMs: script.beforeFirstEventMs };
  for (const event of format.events(answer)) {
    if (sent > 0 && script.betweenEventsMs > 0) yield { kind: 'wait', durationMs: script.betweenEventsMs };
    if (ending !== undefined && isDue(ending, sent, event)) {
      if (ending.kind !== 'broken_json') return yield* endStream(ending, script, sent);
      broken = true;
      yield { kind: 'event', event: { ...event, data: event.data.slice(0, event.data.length / 2) } };
    } else yield { kind: 'event', event };
    sent++;
    if (script.unknownEvents) yield { kind: 'text', text: unknownEvents(sent) };
  }
  return broken ? 'faulted' : 'completed';
}

function isDue(fault: StreamFault, sent: number, event: ProviderEvent): boolean {
  if (fault.kind === 'end' && fault.afterEvents === undefined) return event.terminal;
  return sent === (fault.afterEvents ?? (fault.kind === 'failed' ? 2 : 0));
}

function* endStream(
  fault: Exclude<StreamFault, FaultOf<'broken_json'>>,
  { format, answer }: StreamScript,
  sent: number,
): Generator<StreamStep, StreamEnd> {
  switch (fault.kind) {
    case 'reset':
    case 'stall':
      yield { kind: fault.kind };
      break;
    case 'endless_line':
      yield { kind: 'endless_line', bytes: fault.bytes ?? Number.POSITIVE_INFINITY };
      break;
    case 'error_event':
      yield { kind: 'text', text: eventText(format.errorEvent(errorOf(fault, format), sent)) };
      break;
    case 'failed':
      yield { kind: 'text', text: eventText(format.failedEvent(answer, errorOf(fault, format), sent)) };
      break;
    case 'end':
      break;
  }
  return 'faulted';
}

/** By default the Messages provider is overloaded and the Responses provider has an internal error. */
function errorOf({ error }: FaultOf<'error_event' | 'failed'>, { name }: ProviderFormat): ProviderError {
  const usual: ProviderError =
    name === 'messages'
      ? { status: 529, message: 'Overloaded' }
      : { status: 500, code: 'server_error', message: 'The server had an error while processing your request.' };
  return error?.code === undefined && error?.type === undefined
    ? { ...usual, message: error?.message ?? usual.message }
    : { status: 500, message: usual.message, ...error };
}

function unknownEvents(number: number): string {
  const data = JSON.stringify({ type: 'simulator.unknown', number });
  return `: comment ${number}\n\nevent: keepalive\n\nevent: simulator.unknown\ndata: ${data}\n\n`;
}

/** An event as it stands in the stream. */
export function eventText({ name, data }: NamedEvent): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}
