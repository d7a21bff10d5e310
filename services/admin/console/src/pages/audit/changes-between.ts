export interface FieldChange {
  /** "limits.requestsPerMinute" */
  readonly field: string;
  /** Undefined: it did not exist. */
  readonly was: string | undefined;
  /** Undefined: it no longer exists. */
  readonly is: string | undefined;
}

/**
 * The fields that differ between two JSON objects. A missing value is written as ''. If only one of
 * the objects exists, all of its fields are listed: it was created or removed. Revision counters
 * are left out.
 */
export function changesBetween(before: string, after: string): readonly FieldChange[] {
  const was = fieldsOf(before);
  const is = fieldsOf(after);
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((field) => field !== 'revision' && was.get(field) !== is.get(field))
    .map((field) => ({ field, was: was.get(field), is: is.get(field) }));
}

function fieldsOf(json: string): ReadonlyMap<string, string> {
  if (json === '') return new Map();
  try {
    return new Map(flat('', JSON.parse(json)));
  } catch {
    return new Map([['', json]]);
  }
}

function flat(path: string, value: unknown): (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) return value === '' ? [] : [[path, String(value)]];
  return Object.entries(value).flatMap(([name, inner]) => flat(path === '' ? name : `${path}.${name}`, inner));
}
