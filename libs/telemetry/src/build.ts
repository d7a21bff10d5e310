// All packages have the version of the whole.
import manifest from '../package.json' with { type: 'json' };

/** Which build of the gateway this is. */
export interface Build {
  /** Of the release, or the one that comes before it. */
  readonly version: string;
  /** GATEWAY_REVISION, which images set: the commit. `unknown` where sources run as they are. */
  readonly revision: string;
}

export function readBuild(): Build {
  const { GATEWAY_REVISION: revision = 'unknown' } = process.env;
  return { version: manifest.version, revision };
}

/** What `--version` prints. */
export function versionText(program: string): string {
  const { version, revision } = readBuild();
  return `${program} ${version} (revision ${revision})\n`;
}
