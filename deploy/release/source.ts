import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** What a release is made from. */
export interface Source {
  readonly repository: string;
  readonly name: string;
  readonly version: string;
  readonly commit: string;
  /** The tags of this commit. */
  readonly tags: readonly string[];
  /** Files that differ from the commit, or are not in it: ` M package.json`. */
  readonly changes: readonly string[];
  /** Where the sources are published. npm compares it with the identity of the publisher. */
  readonly url: string | undefined;
  /** Stands for the time of the build. */
  readonly time: Date;
}

/** @param sourceDateEpoch in seconds; without it the time of the commit. */
export function readSource(repository: string, sourceDateEpoch?: string): Source {
  const git = (...parameters: readonly string[]) =>
    execFileSync('git', parameters, { cwd: repository, encoding: 'utf8' }).split('\n').filter(Boolean);
  const [commit = ''] = git('rev-parse', 'HEAD');
  const [committed = ''] = git('log', '-1', '--format=%ct');
  const {
    name,
    version,
    repository: place,
  } = manifest.parse(JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')));
  return {
    ...{ repository, name, version, commit },
    tags: git('tag', '--points-at', 'HEAD'),
    changes: git('status', '--porcelain', '--untracked-files=all').toSorted(),
    url: typeof place === 'string' ? place : place?.url,
    time: new Date(
      z.coerce
        .number()
        .int()
        .nonnegative()
        .parse(sourceDateEpoch ?? committed) * 1_000,
    ),
  };
}

const manifest = z.object({
  name: z.string(),
  version: z.string(),
  repository: z.union([z.string(), z.object({ url: z.string() })]).optional(),
});

/** Why these sources may not be released as `tag`; undefined if they may, or there is no tag. */
export function refusalOf(
  { version, tags, changes, commit, url }: Source,
  tag: string | undefined,
): string | undefined {
  if (tag === undefined) return undefined;
  if (tag !== `v${version}`) return `The tag is ${tag}, and package.json has version ${version}.`;
  if (!tags.includes(tag)) return `The commit ${commit} is not that of the tag ${tag}.`;
  if (changes.length > 0) return `There are uncommitted changes:\n${changes.join('\n')}`;
  if (url === undefined) return 'package.json names no repository. npm accepts a provenance only from that repository.';
  return undefined;
}
