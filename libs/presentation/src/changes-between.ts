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
      field: fieldWords.get(field) ?? wordsOf(field),
      was: valueText(field, was.get(field)),
      is: valueText(field, is.get(field)),
    }));
}

const fieldWords: ReadonlyMap<string, string> = new Map([
  ['limits.requestsPerMinute', 'requests per minute'],
  ['limits.tokensPerDay', 'tokens per day'],
  ['limits.concurrentRequests', 'requests at a time'],
  ['limits.strictTokens', 'strict tokens per day'],
  ['limits.budget.amountMicros', 'budget'],
  ['limits.budget.period', 'period of the budget'],
  ['createdAt', 'created'],
  ['expiresAt', 'expires'],
  ['revokedAt', 'revoked'],
  ['tokenId', 'id'],
  ['oldTextValidUntil', 'old secret valid until'],
  ['keepOldSeconds', 'old secret valid for'],
  ['times', 'number of times'],
  ['lastAt', 'last time'],
]);

/** "maxConcurrency" is "max concurrency", and "credential.clientId" is "credential client id". */
function wordsOf(field: string): string {
  return field.replaceAll('.', ' ').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** A value that is not of the expected form is shown as it is: rows of any release can be shown. */
function valueText(field: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const name = field.slice(field.lastIndexOf('.') + 1);
  if (!wholeNumber.test(value)) return enumWordOf(name, value);
  if (name.endsWith('Micros')) return amountOf(value);
  if (name.endsWith('Seconds')) return formatDuration(Number(value));
  return field.startsWith('limits.') ? formatCount(Number(value)) : value;
}

const wholeNumber = /^\d{1,18}$/;

/** "month" for `BUDGET_PERIOD_MONTH`. For these fields only: people may write such texts. */
function enumWordOf(name: string, value: string): string {
  const prefix = enumPrefixes.get(name);
  return prefix !== undefined && value.startsWith(prefix) ? value.slice(prefix.length).toLowerCase() : value;
}

const enumPrefixes: ReadonlyMap<string, string> = new Map([
  ['kind', 'TOKEN_KIND_'],
  ['period', 'BUDGET_PERIOD_'],
]);

/** Millionths as an amount. A row of the audit log does not know the currency. */
function amountOf(micros: string): string {
  return amount.format(Number(micros) / 1_000_000).replaceAll(',', '\u202f');
}

const amount = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 6 });

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
