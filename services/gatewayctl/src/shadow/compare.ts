import { eventSequence, membersOf, outlineOf } from './events.ts';
import type { Answer, NoAnswer, StreamEvent } from './send.ts';
import { shapeDifferences, shapeOf } from './shape.ts';
import { documentsOf, modelOf, usageOf } from './usage.ts';

export interface Difference {
  readonly kind: 'answer' | 'status' | 'format' | 'shape' | 'events' | 'error' | 'usage';
  readonly text: string;
  /** Why it is expected. Undefined: it is not. */
  readonly explanation?: string;
}

/**
 * What differs between two answers to the same request. Texts and numbers that models choose are
 * no differences, and neither is time.
 * @param ignored paths, or kinds of differences, that a person has accepted.
 */
export function differencesBetween(
  from: Answer | NoAnswer,
  to: Answer | NoAnswer,
  ignored: ReadonlySet<string> = new Set(),
): readonly Difference[] {
  if ('reason' in from || 'reason' in to) return missing(from, to);
  const found = [...statuses(from, to), ...bodies(from, to, ignored), ...errors(from, to), ...usages(from, to)];
  return found.map((each) => (ignored.has(each.kind) && !each.explanation ? { ...each, explanation: accepted } : each));
}

const accepted = 'accepted by --ignore';
const chosen = 'models choose what they answer with';

function missing(from: Answer | NoAnswer, to: Answer | NoAnswer): readonly Difference[] {
  const said = (side: string, answer: Answer | NoAnswer) =>
    'reason' in answer ? [{ kind: 'answer', text: `no answer of ${side}: ${answer.reason}` } as const] : [];
  return [...said('--from', from), ...said('--to', to)];
}

function statuses(from: Answer, to: Answer): readonly Difference[] {
  if (from.status === to.status) return [];
  return [{ kind: 'status', text: `${from.status} from --from, ${to.status} from --to` }];
}

function bodies(from: Answer, to: Answer, ignored: ReadonlySet<string>): readonly Difference[] {
  if (from.mediaType !== to.mediaType) {
    return [{ kind: 'format', text: `${nameOf(from.mediaType)} from --from, ${nameOf(to.mediaType)} from --to` }];
  }
  // The shape of an error says nothing about the shape of an answer.
  if (from.status !== to.status && (from.status < 400 || to.status < 400)) return [];
  if (from.body === undefined || to.body === undefined) {
    return from.body === to.body ? [] : [{ kind: 'format', text: 'only one body is JSON' }];
  }
  if ('events' in from.body && 'events' in to.body) {
    return [...sequences(from.body.events, to.body.events), ...eventShapes(from.body.events, to.body.events, ignored)];
  }
  return shapes(documentsOf(from), documentsOf(to), '', ignored);
}

function nameOf(mediaType: string): string {
  return mediaType === '' ? 'no media type' : mediaType;
}

function sequences(from: readonly StreamEvent[], to: readonly StreamEvent[]): readonly Difference[] {
  const [before, after] = [eventSequence(from), eventSequence(to)];
  if (isSame(before, after)) return [];
  const text = `${before.join(', ')} from --from; ${after.join(', ')} from --to`;
  const isChoice = isSame(outlineOf(before), outlineOf(after));
  return [{ kind: 'events', text, ...(isChoice && { explanation: chosen }) }];
}

/** Compares events of the same type. An event that only one stream has is part of the sequence. */
function eventShapes(
  from: readonly StreamEvent[],
  to: readonly StreamEvent[],
  ignored: ReadonlySet<string>,
): readonly Difference[] {
  const [before, after] = [byType(from), byType(to)];
  return [...before].flatMap(([type, events]) => {
    const others = after.get(type);
    return others === undefined ? [] : shapes(dataOf(events), dataOf(others), type, ignored);
  });
}

function byType(events: readonly StreamEvent[]) {
  return Map.groupBy(events, ({ data }) => String(membersOf(data).type ?? membersOf(data).object ?? ''));
}

function dataOf(events: readonly StreamEvent[]): readonly unknown[] {
  return events.map(({ data }) => data);
}

function shapes(
  from: readonly unknown[],
  to: readonly unknown[],
  event: string,
  ignored: ReadonlySet<string>,
): readonly Difference[] {
  return shapeDifferences(shapeOf(from), shapeOf(to)).map(({ path, text, isChoice }) => {
    const explanation = ignored.has(path) ? accepted : isChoice ? chosen : undefined;
    return { kind: 'shape', text: event === '' ? text : `${event}: ${text}`, ...(explanation && { explanation }) };
  });
}

/** Clients decide by the code and the type of an error. */
function errors(from: Answer, to: Answer): readonly Difference[] {
  if (from.status < 400 || to.status < 400) return [];
  const [before, after] = [errorOf(from), errorOf(to)];
  return ['code', 'type'].flatMap((member): readonly Difference[] => {
    const [one, other] = [before[member], after[member]];
    // If only one has it, that is a difference in shape.
    if (typeof one !== 'string' || typeof other !== 'string' || one === other) return [];
    return [{ kind: 'error', text: `error.${member}: ${one} from --from, ${other} from --to` }];
  });
}

function errorOf(answer: Answer) {
  return membersOf(membersOf(documentsOf(answer)[0]).error);
}

function usages(from: Answer, to: Answer): readonly Difference[] {
  if (from.status >= 400 || to.status >= 400) return [];
  const [before, after] = [usageOf(from), usageOf(to)];
  if (before === undefined && after === undefined) return [];
  if (before === undefined || after === undefined) {
    return [{ kind: 'usage', text: `only reported by ${before === undefined ? '--to' : '--from'}` }];
  }
  if (before.input === after.input) return [];
  const isOtherModel = modelOf(from) !== modelOf(to);
  const text = `${before.input} input tokens from --from, ${after.input} from --to`;
  return [{ kind: 'usage', text, ...(isOtherModel && { explanation: 'another model answered' }) }];
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
