import { type Document, type Range, visit } from 'yaml';
import { pathText, referencesIn } from './env-references.ts';
import { Secret } from './secret.ts';

/**
 * A `gateway.yaml` as written, for display: references are not resolved, and secrets are removed.
 */
export interface WrittenGateway {
  readonly text: string;
  /** The same as data. Secrets are `Secret` objects. */
  readonly value: unknown;
  /** The names in its references. */
  readonly references: ReadonlySet<string>;
}

/** Builds it from a text that was read without problems: the document, and the data in it. */
export function asWritten(text: string, document: Document.Parsed, value: unknown): WrittenGateway {
  const wrapped = withSecrets(value, []);
  const secrets = leavesOf(wrapped).flatMap(([, leaf]) => (leaf instanceof Secret ? [leaf.reveal()] : []));
  return { text: textWithout(secrets, text, document), value: wrapped, references: referencesIn(value).names };
}

/**
 * The differences, one per line: "+ classes.snel: {…}", "~ settings.lease_ttl_seconds: 60 → 90".
 * Secrets are not compared, because a difference would confirm or refute a guess. `after`: the data
 * of a text.
 */
export function changesBetween(before: WrittenGateway, after: unknown): readonly string[] {
  const [old, now] = [new Map(partsOf(before.value)), new Map(partsOf(withSecrets(after, [])))];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((path) => {
    if (!old.has(path)) return [`+ ${path}: ${shown(now.get(path))}`];
    if (!now.has(path)) return [`- ${path}: ${shown(old.get(path))}`];
    const [from, to] = [new Map(leavesOf(old.get(path))), new Map(leavesOf(now.get(path)))];
    return [...new Set([...from.keys(), ...to.keys()])].flatMap((leaf) => {
      const place = leaf === '' || leaf.startsWith('[') ? `${path}${leaf}` : `${path}.${leaf}`;
      return leafChange(place, from.get(leaf), to.get(leaf));
    });
  });
}

function leafChange(place: string, from: unknown, to: unknown): readonly string[] {
  if (from === undefined) return [`+ ${place}: ${shown(to)}`];
  if (to === undefined) return [`- ${place}: ${shown(from)}`];
  const [before, after] = [shown(from), shown(to)];
  if (before !== after) return [`~ ${place}: ${before} → ${after}`];
  return before.includes(leftOut) ? [`~ ${place}: ${mayBeAnother}`] : [];
}

const mayBeAnother = 'may be another secret; secrets are not compared';

type Part = readonly [path: string, value: unknown];

/**
 * The parts that are added and removed as a whole: a pool, an account, a class, the price of a
 * model, a receiver.
 */
function partsOf(value: unknown): readonly Part[] {
  return Object.entries(Object(value)).flatMap(([section, content]): readonly Part[] => {
    if (typeof content === 'string') return [[pathText([section]), content]];
    const named = Array.isArray(content) ? namedParts(content) : Object.entries(Object(content));
    return named.flatMap(([name, part]): readonly Part[] => {
      if (!Array.isArray(part) || isPlainList(part)) return [[pathText([section, name]), part]];
      return namedParts(part).map(([inner, each]) => [pathText([section, name, inner]), each]);
    });
  });
}

function namedParts(list: readonly unknown[]): readonly Part[] {
  return list.map((part, index) => {
    const { pool, name, model, from } = Object(part) as Readonly<Record<string, unknown>>;
    // A model has a price for each day from which one applies.
    const price = from === undefined ? model : `${model} from ${from}`;
    const ofPool = pool === undefined ? name : `${pool}/${name}`;
    return [String(price ?? (name === undefined ? index : ofPool)), part];
  });
}

/** The leaf values. A list of scalars is one leaf, because its order matters. */
function leavesOf(value: unknown, path: readonly PropertyKey[] = []): readonly Part[] {
  if (Array.isArray(value) && isPlainList(value)) return [[pathText(path), JSON.stringify(value)]];
  if (value instanceof Secret || typeof value !== 'object' || value === null) return [[pathText(path), value]];
  return Object.entries(value).flatMap(([key, part]) => leavesOf(part, [...path, key]));
}

function isPlainList(list: readonly unknown[]): boolean {
  return list.every((part) => typeof part !== 'object');
}

function shown(value: unknown): string {
  // A secret prints as "[redacted]".
  return withoutUser(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
}

/**
 * Replaces the secrets of credentials and of receivers with `Secret` objects, unless they are
 * references.
 */
function withSecrets(value: unknown, path: readonly PropertyKey[]): unknown {
  if (Array.isArray(value)) return value.map((part, index) => withSecrets(part, [...path, index]));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withSecrets(part, [...path, key])]));
  }
  const key = String(path.at(-1));
  const isSecret =
    (path.includes('credential') && secretKeys.includes(key)) ||
    (path[0] === 'alerts' && receiverSecretKeys.includes(key));
  return isSecret && !reference.test(String(value)) ? new Secret(String(value)) : value;
}

const secretKeys = ['bearer', 'api_key', 'client_secret', 'refresh_token'];
const receiverSecretKeys = ['url', 'secret'];
const reference = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

/**
 * Removes secrets where they stand, whatever their notation, and wherever else they occur, such as
 * in an anchor or a comment.
 */
function textWithout(secrets: readonly string[], text: string, document: Document.Parsed): string {
  const inPlace = scalarsWith(new Set(secrets), document).reduceRight((rest, [start, end]) => {
    const lineEnd = rest.slice(start, end).endsWith('\n') ? '\n' : '';
    return `${rest.slice(0, start)}"${leftOut}"${lineEnd}${rest.slice(end)}`;
  }, text);
  // Shorter secrets would remove parts of words.
  const elsewhere = secrets.filter((secret) => secret.length >= 6);
  const cleaned = elsewhere.reduce((rest, secret) => rest.replaceAll(secret, leftOut), inPlace);
  return withoutUser(cleaned.split('\n').map(withoutCommentedSecrets).join('\n'));
}

const leftOut = '[redacted]';

/** An account or a receiver may have been commented out. */
function withoutCommentedSecrets(line: string): string {
  const start = line.indexOf('#');
  return start < 0 ? line : line.slice(0, start) + line.slice(start).replace(commentedSecret, `$1 ${leftOut}`);
}

const commentedSecret =
  /(\b(?:bearer|api_key|client_secret|refresh_token|secret|url)["']?\s*:)\s*(?!["']?\$\{)[^\s,}]+/g;

/** A URL may contain a password. */
function withoutUser(text: string): string {
  return text.replace(/:\/\/[^/\s"']*@/g, `://${leftOut}@`);
}

/** The positions of scalars with these values, in the order of the text. */
function scalarsWith(values: ReadonlySet<string>, document: Document.Parsed): readonly Range[] {
  const found: Range[] = [];
  visit(document, {
    Scalar: (_, { value, range }) => {
      if (range && values.has(String(value))) found.push(range);
    },
  });
  return found;
}
