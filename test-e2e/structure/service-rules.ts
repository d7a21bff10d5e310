import type { SourceTree, Violation } from './source-tree.ts';
import { compositions, workspacesOf } from './workspaces.ts';

/** Speaks HTTP to the world; what RPCs it serves are for operators. */
const httpServices = ['services/edge-router'];

const partsOfAService = ['README.md', 'src/main.ts', 'src/config.ts', 'src/service.ts', 'src/routes.ts'];

/** Who knows one service finds his way in every other. */
export function missingPartsOfServices(tree: SourceTree): readonly Violation[] {
  return serviceFolders(tree).flatMap((folder) =>
    partsOfAService
      .filter((part) => !tree.has(`${folder}/${part}`))
      .map((part) => ({ file: folder, problem: `has no ${part}` })),
  );
}

/** An RPC, its handler and the file of its handler share a name. */
export function missingHandlers(tree: SourceTree): readonly Violation[] {
  const methods = methodsByService(tree);
  return serviceFolders(tree).flatMap((folder) => {
    if (httpServices.includes(folder)) return [];
    const served = servedBy(folder, tree, methods);
    if (served.length === 0) return [{ file: `${folder}/src/routes.ts`, problem: 'serves no service of proto/' }];
    return served
      .flatMap((service) => methods.get(service) ?? [])
      .map((method) => `${folder}/src/rpc/${kebabCase(method)}.ts`)
      .filter((file) => !tree.has(file))
      .map((file) => ({ file, problem: 'is missing: every RPC has a file of its own' }));
  });
}

export function missingEndpoints(tree: SourceTree): readonly Violation[] {
  return httpServices
    .filter((folder) => tree.has(`${folder}/package.json`))
    .filter((folder) => ![...tree.keys()].some((path) => path.startsWith(`${folder}/src/endpoints/`)))
    .map((folder) => ({ file: `${folder}/src/endpoints`, problem: 'is missing: every endpoint has a file there' }));
}

/** Served by every gRPC server of ours, whatever service it is of: `libs/rpc`. */
const servedEverywhere: ReadonlySet<string> = new Set(['MultiplexService']);

/** Every service of the contracts is served by somebody. */
export function unservedContracts(tree: SourceTree): readonly Violation[] {
  const methods = methodsByService(tree);
  const served = new Set(serviceFolders(tree).flatMap((folder) => servedBy(folder, tree, methods)));
  return [...methods.keys()]
    .filter((service) => !served.has(service) && !servedEverywhere.has(service))
    .map((service) => ({ file: 'proto', problem: `no service's routes.ts serves ${service}` }));
}

function serviceFolders(tree: SourceTree): readonly string[] {
  return workspacesOf(tree)
    .filter(({ layer, folder }) => layer === 'services' && !compositions.includes(folder))
    .map(({ folder }) => folder);
}

function servedBy(
  folder: string,
  tree: SourceTree,
  methods: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const routes = tree.get(`${folder}/src/routes.ts`) ?? '';
  return [...methods.keys()].filter((service) => new RegExp(`\\b${service}\\b`).test(routes));
}

function methodsByService(tree: SourceTree): ReadonlyMap<string, readonly string[]> {
  const contracts = [...tree]
    .filter(([path]) => path.endsWith('.proto'))
    .map(([, text]) => text.replaceAll(/\/\/.*$/gm, ''));
  const services = contracts.flatMap((text) => [...text.matchAll(/\bservice\s+(\w+)\s*\{([^}]*)\}/g)]);
  return new Map(
    services.map(([, name = '', body = '']) => [name, [...body.matchAll(/\brpc\s+(\w+)/g)].map(([, rpc = '']) => rpc)]),
  );
}

function kebabCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
}
