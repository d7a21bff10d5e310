import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which build of the gateway this is. */
export interface Build {
  /** Of the release, or the one that comes before it. */
  readonly version: string;
  /** GATEWAY_REVISION, which images set: the commit. `unknown` where sources run as they are. */
  readonly revision: string;
}

export function readBuild(): Build {
  const { GATEWAY_REVISION: revision = 'unknown' } = process.env;
  // All packages have the version of the whole.
  const { version }: { readonly version: string } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
  );
  return { version, revision };
}

/** What `--version` prints. */
export function versionText(program: string): string {
  const { version, revision } = readBuild();
  return `${program} ${version} (revision ${revision})\n`;
}
