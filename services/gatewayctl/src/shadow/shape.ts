/** What an answer consists of: the types at each path. `choices[].message.content` is a string. */
export type Shape = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The joint shape of values. All items of a list have one path; if they have a `type`, one for each
 * type.
 */
export function shapeOf(values: readonly unknown[]): Shape {
  const shape = new Map<string, Set<string>>();
  const visit = (value: unknown, path: string): void => {
    const types = shape.get(path) ?? new Set();
    shape.set(path, types.add(typeOf(value)));
    if (Array.isArray(value)) {
      for (const item of value) visit(item, `${path}[${kindOf(item)}]`);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) {
        const at = path === '' ? key : `${path}.${key}`;
        if (isFree(key, value)) shape.set(at, (shape.get(at) ?? new Set()).add(typeOf(member)));
        else visit(member, at);
      }
    }
  };
  for (const value of values) visit(value, '');
  return shape;
}

export interface ShapeDifference {
  readonly path: string;
  readonly text: string;
  /** Whether models choose it, such as whether they call a tool. */
  readonly isChoice: boolean;
}

/**
 * The paths at which shapes differ. Null is the same as absent: both mean "none". Below a path that
 * only one shape has, nothing more is reported.
 */
export function shapeDifferences(from: Shape, to: Shape): readonly ShapeDifference[] {
  const reported: string[] = [];
  return [...new Set([...from.keys(), ...to.keys()])].toSorted().flatMap((path): readonly ShapeDifference[] => {
    const [before, after] = [typesAt(from, path), typesAt(to, path)];
    if (before === after || reported.some((above) => isBelow(path, above))) return [];
    const isOneSided = before === '' || after === '';
    if (isOneSided) reported.push(path);
    const text = isOneSided
      ? `${path}: only in the answer of ${before === '' ? '--to' : '--from'}`
      : `${path}: ${before} from --from, ${after} from --to`;
    return [{ path, text, isChoice: isOneSided && choices.test(path) }];
  });
}

function typesAt(shape: Shape, path: string): string {
  return [...(shape.get(path) ?? [])]
    .filter((type) => type !== 'null')
    .toSorted()
    .join(' or ');
}

function isBelow(path: string, above: string): boolean {
  return path.startsWith(above) && /^[.[]/.test(path.slice(above.length));
}

/** Items of other types, calls of tools, and thoughts. */
const choices = /(\[\w+\]|(^|\.)(tool_calls|function_call|content|reasoning_content|thinking_blocks|refusal))$/;

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

function kindOf(item: unknown): string {
  const type: unknown = typeof item === 'object' && item !== null && 'type' in item ? item.type : undefined;
  return typeof type === 'string' && /^\w+$/.test(type) ? type : '';
}

/** Members whose content clients or models decide. */
function isFree(key: string, owner: object): boolean {
  if (key === 'input') return 'type' in owner && /tool_use/.test(String(owner.type));
  return ['metadata', 'arguments', 'parameters', 'input_schema', 'schema'].includes(key);
}
