import { splitSnapshotDate } from './snapshot-date.ts';

export interface NamedByProvider {
  readonly id: string;
  /** Empty when the provider has no name for it. */
  readonly displayName: string;
}

/**
 * Readable names for the models of one listing, in their order. A dated snapshot is named without its date, unless that
 * is the name of another listed model too. `taken` are names that the listing gives to other things.
 *
 * @see spec "GET /v1/models", rule 2
 */
export function readableNames(models: readonly NamedByProvider[], taken: readonly string[] = []): string[] {
  const names = models.map(nameWithoutDate);
  const uses = new Map<string, number>();
  for (const name of [...taken, ...names]) uses.set(name, (uses.get(name) ?? 0) + 1);
  return names.map((name, index) => {
    const { date } = splitSnapshotDate(models[index]?.id ?? '');
    return date !== undefined && (uses.get(name) ?? 0) > 1 ? `${name} (${date})` : name;
  });
}

function nameWithoutDate({ id, displayName }: NamedByProvider): string {
  const { undated, date } = splitSnapshotDate(id);
  if (displayName === '' || displayName === id) return prettified(undated);
  return date === undefined ? displayName : displayName.replace(/ \(?20\d\d-?\d\d-?\d\d\)?$/, '');
}

/** claude-haiku-4-5 becomes "Claude Haiku 4.5", gpt-5.5-mini "GPT-5.5 mini". */
function prettified(id: string): string {
  const words = joinVersion(id.split('-'));
  const [first = id, second, ...rest] = words;
  const brand = brands.get(first);
  if (brand !== undefined) return [second === undefined ? brand : `${brand}-${second}`, ...rest].join(' ');
  if (first === 'claude') return words.map(capitalised).join(' ');
  return [/^o\d/.test(first) ? first : capitalised(first), ...words.slice(1)].join(' ');
}

// These are written with a hyphen before what follows.
const brands: ReadonlyMap<string, string> = new Map([
  ['gpt', 'GPT'],
  ['chatgpt', 'ChatGPT'],
]);

/** ["claude", "3", "5"] becomes ["claude", "3.5"]: ids write versions with hyphens. */
function joinVersion(words: readonly string[]): string[] {
  return words.reduce<string[]>((joined, word) => {
    const last = joined.at(-1);
    if (last !== undefined && /^\d{1,2}$/.test(last) && /^\d{1,2}$/.test(word)) joined.splice(-1, 1, `${last}.${word}`);
    else joined.push(word);
    return joined;
  }, []);
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
