import { framed } from '@gateway/testkit/adapters';
import fc from 'fast-check';

/** Damage to a stream: to its events, then to its bytes. */
export interface ArbitraryDamage {
  readonly toEvents: readonly EventDamage[];
  readonly toBytes: readonly ByteDamage[];
}

type EventDamage =
  | { readonly kind: 'lost' | 'repeated'; readonly at: number }
  | { readonly kind: 'swapped'; readonly at: number; readonly with: number }
  /** One of its values, at any depth, is changed or left out. */
  | { readonly kind: 'altered'; readonly at: number; readonly place: number; readonly value: unknown };

type ByteDamage =
  | { readonly kind: 'overwritten'; readonly at: number; readonly value: number }
  | { readonly kind: 'removed'; readonly at: number; readonly length: number };

const at = fc.nat(1_000);
const byteAt = fc.nat(20_000);

const anyEventDamage: fc.Arbitrary<EventDamage> = fc.oneof(
  fc.record({ kind: fc.constantFrom('lost' as const, 'repeated' as const), at }),
  fc.record({ kind: fc.constant('swapped' as const), at, with: at }),
  fc.record({
    kind: fc.constant('altered' as const),
    at,
    place: at,
    value: fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(undefined, '', 0, -1, 1e300, 'function_call')),
  }),
);

const anyByteDamage: fc.Arbitrary<ByteDamage> = fc.oneof(
  fc.record({ kind: fc.constant('overwritten' as const), at: byteAt, value: fc.nat(255) }),
  fc.record({ kind: fc.constant('removed' as const), at: byteAt, length: fc.nat(60) }),
);

export const anyDamage: fc.Arbitrary<ArbitraryDamage> = fc.record({
  toEvents: fc.array(anyEventDamage, { maxLength: 6 }),
  toBytes: fc.oneof(fc.constant([]), fc.constant([]), fc.array(anyByteDamage, { maxLength: 3 })),
});

export function damaged(
  events: readonly { readonly type: string }[],
  { toEvents, toBytes }: ArbitraryDamage,
): Uint8Array {
  const left = toEvents.reduce(damageEvents, events);
  return toBytes.reduce<Uint8Array>(damageBytes, new TextEncoder().encode(framed(left)));
}

type Events = readonly { readonly type: string }[];

function damageEvents(events: Events, damage: EventDamage): Events {
  const at = damage.at % Math.max(events.length, 1);
  const event = events[at];
  if (event === undefined) return events;
  switch (damage.kind) {
    case 'lost':
      return events.toSpliced(at, 1);
    case 'repeated':
      return events.toSpliced(at, 0, event);
    case 'swapped':
      return events.with(at, events[damage.with % events.length] ?? event).with(damage.with % events.length, event);
    case 'altered':
      return events.with(at, altered(event, damage.place, damage.value));
  }
}

/** Visits the values of an event in the order of its JSON and replaces one. */
function altered(event: { readonly type: string }, place: number, value: unknown): { readonly type: string } {
  const total = countValues(event);
  let index = 0;
  return JSON.parse(
    JSON.stringify(event, (key, known: unknown) => {
      if (key === '') return known;
      index += 1;
      return index - 1 === place % total ? value : known;
    }),
  );
}

function countValues(event: object): number {
  let count = 0;
  JSON.stringify(event, (_, value: unknown) => {
    count += 1;
    return value;
  });
  return Math.max(count - 1, 1);
}

function damageBytes(bytes: Uint8Array, damage: ByteDamage): Uint8Array {
  if (bytes.length === 0) return bytes;
  const at = damage.at % bytes.length;
  if (damage.kind === 'overwritten') return bytes.with(at, damage.value);
  return Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(at + damage.length)]);
}
