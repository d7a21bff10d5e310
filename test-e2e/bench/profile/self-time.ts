import type { CpuProfile, ProfileNode } from './inspector.ts';

export interface SelfTime {
  /** Name and place of the function. */
  readonly what: string;
  /** The package or service that it is part of. */
  readonly owner: string;
  /** Share of the busy time. */
  readonly share: number;
}

/**
 * The functions with the most busy time, in descending order. Waiting for work is not busy. Samples
 * count, not the time between them: after a pause of the sampler that time would all be attributed
 * to the next function.
 */
export function selfTimes(profile: CpuProfile): readonly SelfTime[] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const busy = profile.samples.flatMap((id) => {
    const node = nodes.get(id);
    return node === undefined || node.callFrame.functionName === '(idle)' ? [] : [node];
  });
  const byPlace = Map.groupBy(busy, placeOf);
  return [...byPlace]
    .flatMap(([what, [first, ...more]]) =>
      first === undefined ? [] : [{ what, owner: ownerOf(first), share: (more.length + 1) / busy.length }],
    )
    .toSorted((a, b) => b.share - a.share);
}

/** The share of each owner, in descending order. */
export function sharesByOwner(times: readonly SelfTime[]): readonly (readonly [owner: string, share: number])[] {
  const shares = new Map<string, number>();
  for (const { owner, share } of times) shares.set(owner, (shares.get(owner) ?? 0) + share);
  return [...shares].toSorted(([, a], [, b]) => b - a);
}

function placeOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name} ${shortened(url)}:${lineNumber + 1}`;
}

function ownerOf({ callFrame: { functionName, url } }: ProfileNode): string {
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (functionName === '(program)') return 'system calls and V8';
  if (url === '') return 'built-in functions';
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/');
  const path = shortened(url);
  const ours = /^(?:services|libs)\/[^/]+/.exec(path)?.[0];
  return ours ?? /^((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path;
}

function shortened(url: string): string {
  const packaged = url.lastIndexOf('/node_modules/');
  if (packaged >= 0) return url.slice(packaged + '/node_modules/'.length);
  return url.replace(/^file:\/\//, '').replace(/^.*?\/((?:services|libs|proto|test-e2e)\/)/, '$1');
}
