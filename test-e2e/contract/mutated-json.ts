import fc from 'fast-check';

/** A JSON value in which one part is replaced by another value, removed, or added. */
export function mutated(original: fc.Arbitrary<unknown>, values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(original, fc.nat(), fc.constantFrom('replace', 'remove', 'add'), values)
    .map(([value, choice, how, other]) => {
      const places = placesOf(value, []);
      const path = places[choice % places.length] ?? [];
      return changeAt(structuredClone(value), path, (found) => mutation(found, how, other));
    });
}

type Path = readonly (string | number)[];
type Mutation = { readonly kind: 'keep'; readonly value: unknown } | { readonly kind: 'remove' };

function mutation(found: unknown, how: string, other: unknown): Mutation {
  if (how === 'remove') return { kind: 'remove' };
  if (how === 'add' && Array.isArray(found)) return { kind: 'keep', value: [...found, other] };
  return { kind: 'keep', value: other };
}

/** The paths of all parts of a value, including itself. */
function placesOf(value: unknown, path: Path): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const members: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  return [path, ...members.flatMap(([key, member]) => placesOf(member, [...path, key]))];
}

function changeAt(value: unknown, path: Path, change: (found: unknown) => Mutation): unknown {
  const [key, ...rest] = path;
  if (key === undefined) {
    const changed = change(value);
    return changed.kind === 'keep' ? changed.value : {};
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = new Map<string | number, unknown>(Array.isArray(value) ? value.entries() : Object.entries(value));
  const changed: Mutation =
    rest.length === 0 ? change(members.get(key)) : { kind: 'keep', value: changeAt(members.get(key), rest, change) };
  if (changed.kind === 'keep') members.set(key, changed.value);
  else members.delete(key);
  return Array.isArray(value) ? [...members.values()] : Object.fromEntries(members);
}
