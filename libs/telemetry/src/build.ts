// All packages have the version of the whole.
import manifest from '../package.json' with { type: 'json' };

/** Which build of the gateway this is: of which release, or the one that comes before it, and made of which commit. */
export function readBuild() {
  // Images set it. Elsewhere sources run as they are.
  const { GATEWAY_REVISION: revision = 'unknown' } = process.env;
  return { version: manifest.version, revision };
}

/** What `--version` prints. */
export function versionText(program: string): string {
  const { version, revision } = readBuild();
  return `${program} ${version} (revision ${revision})\n`;
}
