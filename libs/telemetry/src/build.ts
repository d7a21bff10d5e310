// All packages share one version.
import manifest from '../package.json' with { type: 'json' };

/** The build of the gateway: its release, or the release that it precedes, and its commit. */
export function readBuild() {
  // Set in images. Elsewhere the sources run directly.
  const { GATEWAY_REVISION: revision = 'unknown' } = process.env;
  return { version: manifest.version, revision };
}

/** The output of `--version`. */
export function versionText(program: string): string {
  const { version, revision } = readBuild();
  return `${program} ${version} (revision ${revision})\n`;
}
