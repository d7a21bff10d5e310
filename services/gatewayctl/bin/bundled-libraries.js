import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import module from 'node:module';

/**
 * The libraries that every command loads, in a few files instead of 150, made by deploy/scripts/bundle-libraries.js.
 *
 * @typedef {object} BundledLibraries
 * @property {string} installed The digest of npm's list of the packages that it was made from.
 * @property {Readonly<Record<string, string>>} files By the name in imports.
 */

/** `npm ci` removes the bundle together with the libraries. */
export const nodeModules = new URL('../../../node_modules/', import.meta.url);
const bundleFolder = new URL('.cache/gatewayctl-libraries/', nodeModules);
const listFile = new URL('libraries.json', bundleFolder);

/** Makes all imports of these libraries load the bundle, if it is that of the installed packages. */
export function useBundledLibraries() {
  const files = filesOfInstalled();
  if (files === undefined) return;
  module.registerHooks({
    resolve(specifier, context, next) {
      const file = context.conditions?.includes('import') ? files[specifier] : undefined;
      if (file === undefined) return next(specifier, context);
      return { url: new URL(file, bundleFolder).href, format: 'module', shortCircuit: true };
    },
  });
}

/** Changes with each installation that changes packages. */
function digestOfInstalled() {
  return createHash('sha256')
    .update(readFileSync(new URL('.package-lock.json', nodeModules)))
    .digest('hex');
}

function filesOfInstalled() {
  try {
    /** @type {BundledLibraries} */
    const { installed, files } = JSON.parse(readFileSync(listFile, 'utf8'));
    return installed === digestOfInstalled() ? files : undefined;
  } catch {
    // Without a bundle, or without npm, imports load the packages themselves.
    return undefined;
  }
}
