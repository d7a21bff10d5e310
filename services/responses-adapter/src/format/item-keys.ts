import { asCount, asObject, asString, type JsonObject } from '@gateway/json';

/** What an event means for an item: it starts, it ends, or something in between. */
export type ItemEvent = 'added' | 'done' | 'part';

/**
 * Identifies the items of one response by keys that count from 0. An item's id has precedence,
 * because some backends give several items one output index. An event with an unknown id concerns
 * the item at its index, unless that is impossible: other backends change an item's id from event
 * to event. An event with neither concerns the latest item.
 */
export class ItemKeys {
  readonly #onNext: () => void;
  readonly #byId = new Map<string, Item>();
  readonly #byIndex = new Map<number, Item>();
  #latest: Item | undefined;
  #count = 0;

  /** @param onNext called when an item starts, before its key is known */
  constructor(onNext: () => void) {
    this.#onNext = onNext;
  }

  /** The key of the item that an event concerns. */
  of(json: JsonObject, event: ItemEvent): number {
    const body = asObject(json.item);
    const id = asString(json.item_id) || asString(body?.id) || undefined;
    const callId = asString(body?.call_id) || undefined;
    const subject: Subject = { event, id, callId, index: asCount(json.output_index) };
    const item = this.#find(subject) ?? this.#begin(subject.index);
    item.callId ??= callId;
    item.hasBody ||= body !== undefined;
    item.isDone ||= event === 'done';
    if (id !== undefined) this.#byId.set(id, item);
    this.#latest = item;
    return item.key;
  }

  /** A key for an item that no event concerned. */
  next(): number {
    return this.#count++;
  }

  #find(subject: Subject): Item | undefined {
    const { id, index } = subject;
    const sameId = id === undefined ? undefined : this.#byId.get(id);
    if (sameId !== undefined && isSame(sameId, subject)) return sameId;
    const inPlace = index === undefined ? this.#latest : this.#byIndex.get(index);
    return inPlace !== undefined && mayBe(inPlace, subject) ? inPlace : undefined;
  }

  #begin(index: number | undefined): Item {
    this.#onNext();
    const item: Item = { key: this.next(), index, callId: undefined, hasBody: false, isDone: false };
    if (index !== undefined) this.#byIndex.set(index, item);
    return item;
  }
}

interface Item {
  readonly key: number;
  readonly index: number | undefined;
  callId: string | undefined;
  /** An event contained the item itself, not only a part of it. */
  hasBody: boolean;
  isDone: boolean;
}

interface Subject {
  readonly event: ItemEvent;
  readonly id: string | undefined;
  readonly callId: string | undefined;
  readonly index: number | undefined;
}

/**
 * Whether the item with the event's id is the one that the event concerns: some backends give all
 * items one id.
 */
function isSame(item: Item, subject: Subject): boolean {
  const { event, index } = subject;
  if (isOtherCall(item, subject) || (event === 'added' && item.isDone)) return false;
  return index === undefined || item.index === undefined || item.index === index;
}

/**
 * Whether the item at the event's index, or the latest one, can be the one that the event concerns.
 * Its id does not tell.
 */
function mayBe(item: Item, subject: Subject): boolean {
  const { event, id, index } = subject;
  if (isOtherCall(item, subject)) return false;
  if (id === undefined && index !== undefined) return true;
  if (event === 'part') return id === undefined || index !== undefined || !item.isDone;
  return !item.isDone && (event === 'done' || (index !== undefined && !item.hasBody));
}

function isOtherCall(item: Item, { callId }: Subject): boolean {
  return callId !== undefined && item.callId !== undefined && item.callId !== callId;
}
