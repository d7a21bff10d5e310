import type { SourceTree } from './source-tree.ts';

export type Layer = 'proto' | 'libs' | 'services' | 'console' | 'test-e2e' | 'conformance';

/** A package of the repository. */
export interface Workspace {
  /** "libs/rpc" */
  readonly folder: string;
  /** "@gateway/rpc" */
  readonly name: string;
  readonly layer: Layer;
  /** Names of the packages that it may load. */
  readonly dependencies: readonly string[];
  /** Those that `npm ci --omit=dev` installs for it. */
  readonly productionDependencies: readonly string[];
}

/**
 * Services that are composed of services: one process of all of them, and the command line that
 * starts it.
 */
export const compositions: readonly string[] = ['services/all-in-one', 'services/gatewayctl'];

export function workspacesOf(tree: SourceTree): readonly Workspace[] {
  return [...tree].flatMap(([path, text]) => {
    const { folder, inOthers, byItself, among } = manifestPath.exec(path)?.groups ?? {};
    const layer = layers.find((name) => name === (inOthers ?? byItself ?? among));
    return folder === undefined || layer === undefined ? [] : [{ folder, layer, ...readPackage(text) }];
  });
}

/** The workspace of a file; undefined for the root's own files and those of `deploy/`. */
export function workspaceOf(path: string, workspaces: readonly Workspace[]): Workspace | undefined {
  const around = workspaces.filter(({ folder }) => path.startsWith(`${folder}/`));
  // The console is in the folder of the service that serves it, conformance in that of the tests.
  return around.toSorted((a, b) => b.folder.length - a.folder.length)[0];
}

/** Name and dependencies in a package.json; the root's tools are its development dependencies. */
export function readPackage(text: string): Pick<Workspace, 'name' | 'dependencies' | 'productionDependencies'> {
  const parsed: unknown = JSON.parse(text);
  const name = memberOf(parsed, 'name');
  const namesIn = (group: string) => Object.keys(memberOf(parsed, group) ?? {});
  return {
    name: typeof name === 'string' ? name : '',
    dependencies: [...namesIn('dependencies'), ...namesIn('devDependencies')],
    productionDependencies: namesIn('dependencies'),
  };
}

const layers: readonly Layer[] = ['proto', 'libs', 'services', 'console', 'test-e2e', 'conformance'];

const manifestPath =
  /^(?<folder>(?:services\/admin|test-e2e)\/(?<inOthers>console|conformance)|(?<byItself>proto|test-e2e)|(?<among>libs|services)\/[^/]+)\/package\.json$/;

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
