import { formatCount, formatDuration } from './numbers.ts';

/** A changed field of the audit log, in the words of people. */
export interface FieldChange {
  /** "requests per minute" */
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
    .map((field) => ({
      field: fieldWords[field] ?? wordsOf(field),
      was: valueText(field, was.get(field)),
      is: valueText(field, is.get(field)),
    }));
}

const fieldWords: Readonly<Record<string, string>> = {
  'limits.requestsPerMinute': 'requests per minute',
  'limits.tokensPerDay': 'tokens per day',
  createdAt: 'created',
  expiresAt: 'expires',
  revokedAt: 'revoked',
  tokenId: 'id',
  oldTextValidUntil: 'old secret valid until',
  keepOldSeconds: 'old secret valid for',
  times: 'number of times',
  lastAt: 'last time',
};

/** "maxConcurrency" is "max concurrency", and "credential.clientId" is "credential client id". */
function wordsOf(field: string): string {
  return field.replaceAll('.', ' ').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function valueText(field: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (field === 'kind') return value.replace(/^TOKEN_KIND_/, '').toLowerCase();
  if (field === 'keepOldSeconds') return formatDuration(Number(value));
  return field.startsWith('limits.') ? formatCount(BigInt(value)) : value;
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
