const segmentEnding = '.journal';
const lockEnding = '.lock';

/** Segments sort by name in the order in which they were begun. */
export function segmentName(owner: string, index: number): string {
  return `${owner}-${String(index).padStart(8, '0')}${segmentEnding}`;
}

/** Held for as long as the owner of the segments lives. */
export function lockName(owner: string): string {
  return `${owner}${lockEnding}`;
}

/** The lock while its owner does not have it yet: nobody looks at it under this name. */
export function newLockName(owner: string): string {
  return `.${owner}${lockEnding}`;
}

/** What can't be read is kept under a name that nobody delivers from. */
export function asideName(name: string): string {
  return `${name}.corrupt`;
}

export function ownersIn(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map(ownerOf).filter((owner) => owner !== undefined));
}

/** In the order in which they were begun. */
export function segmentsOf(owner: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => name.endsWith(segmentEnding) && ownerOf(name) === owner).sort();
}

function ownerOf(name: string): string | undefined {
  if (name.startsWith('.')) return undefined;
  if (name.endsWith(lockEnding)) return name.slice(0, -lockEnding.length);
  if (!name.endsWith(segmentEnding)) return undefined;
  const stem = name.slice(0, -segmentEnding.length);
  const dash = stem.lastIndexOf('-');
  return dash === -1 ? stem : stem.slice(0, dash);
}
