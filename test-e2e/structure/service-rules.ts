import { isTest, type SourceTree, type Violation } from './source-tree.ts';
import { compositions, workspacesOf } from './workspaces.ts';

/** It speaks HTTP to the world; its RPCs are for operators. */
const httpServices = ['services/edge-router'];

const partsOfAService = ['README.md', 'src/main.ts', 'src/config.ts', 'src/service.ts', 'src/routes.ts'];

/** A reader of one service should find the same structure in every other. */
export function missingPartsOfServices(tree: SourceTree): readonly Violation[] {
  return serviceFolders(tree).flatMap((folder) =>
    partsOfAService
      .filter((part) => !tree.has(`${folder}/${part}`))
      .map((part) => ({ file: folder, problem: `has no ${part}` })),
  );
}

/**
 * An RPC and the file of its handler share a name; or all handlers of a service are in one file of
 * the service's name.
 */
export function missingHandlers(tree: SourceTree): readonly Violation[] {
  const methods = methodsByService(tree);
  return serviceFolders(tree).flatMap((folder) => {
    if (httpServices.includes(folder)) return [];
    const served = servedBy(folder, tree, methods);
    if (served.length === 0) return [{ file: `${folder}/src/routes.ts`, problem: 'serves no service of proto/' }];
    const fileOf = (name: string) => `${handlerFolder(folder, tree)}/${kebabCase(name)}.ts`;
    return served
      .filter((service) => !tree.has(fileOf(service)))
      .flatMap((service) => methods.get(service) ?? [])
      .map(fileOf)
      .filter((file) => !tree.has(file))
      .map((file) => ({ file, problem: 'is missing: every RPC has a file of its own, or is in that of its service' }));
  });
}

/** The adapters share the handlers of their kit. */
function handlerFolder(folder: string, tree: SourceTree): string {
  const routes = tree.get(`${folder}/src/routes.ts`) ?? '';
  return routes.includes("from '@gateway/adapter-kit'") ? 'libs/adapter-kit/src/rpc' : `${folder}/src/rpc`;
}

/** Files that only one of the adapters has, and why. */
const filesOfOneAdapter: Readonly<Record<string, string>> = {
  'src/format/bill.ts': 'only Messages bills passes of an answer one by one, besides the counts at the top of a usage',
  'src/format/usage-counts.ts':
    'only Messages reports counts piece by piece, for an answer and each of its passes, which are put together',
  'src/format/item-keys.ts':
    'only Responses backends name items in two ways, by ids and by indexes, that need not agree',
  'src/format/output-items.ts': 'some Responses backends end a stream with an empty output, which is filled',
  'src/format/convert-schemas.ts': 'only Messages restricts the schemas of tools and of structured output',
  'src/format/read-capability.ts':
    'only clients of Messages get our words for what a model does not take, and act on them',
  'src/format/relay-message-reader.ts': 'only answers in the Messages format are relayed whole, too',
};

/**
 * The same job has the same file name in both adapters, so that a reader of one knows the other.
 */
export function filesOfOneAdapterOnly(tree: SourceTree): readonly Violation[] {
  const adapters = [...tree.keys()].flatMap((path) => /^services\/[\w-]+-adapter(?=\/)/.exec(path) ?? []);
  const sources = [...new Set(adapters)].map((folder) => sourcesOf(folder, tree));
  return [...new Set(sources.flatMap((files) => [...files]))].flatMap((file) => {
    const isInBoth = sources.every((files) => files.has(file));
    const mayBeInOne = file in filesOfOneAdapter;
    if (isInBoth && mayBeInOne) return [{ file, problem: 'is in both adapters now' }];
    return isInBoth || mayBeInOne ? [] : [{ file, problem: 'is in one of the adapters only' }];
  });
}

function sourcesOf(folder: string, tree: SourceTree): ReadonlySet<string> {
  const sources = [...tree.keys()].filter((path) => path.startsWith(`${folder}/src/`) && !isTest(path));
  return new Set(sources.map((path) => path.slice(folder.length + 1)));
}

export function missingEndpoints(tree: SourceTree): readonly Violation[] {
  return httpServices
    .filter((folder) => tree.has(`${folder}/package.json`))
    .filter((folder) => ![...tree.keys()].some((path) => path.startsWith(`${folder}/src/endpoints/`)))
    .map((folder) => ({ file: `${folder}/src/endpoints`, problem: 'is missing: every endpoint has a file there' }));
}

/** Served by every gRPC server of ours, for any service: `libs/rpc`. */
const servedEverywhere: ReadonlySet<string> = new Set(['MultiplexService']);

/** Some process serves every service of the contracts. */
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
