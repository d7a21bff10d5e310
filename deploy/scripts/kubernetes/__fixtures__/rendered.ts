import { execFile } from 'node:child_process';
import { cp, glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPrograms } from '@gateway/testkit';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';

/** An object as it would be sent to a cluster, with untyped members. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The whole object. */
  readonly document: Readonly<Record<string, unknown>>;
}

const root = join(import.meta.dirname, '../../../kubernetes');

/** The output of `kubectl kustomize` for a folder of deploy/kubernetes. */
export async function renderFolder(folder: string): Promise<readonly Rendered[]> {
  const kubectl = await findKubectl();
  await using stack = new AsyncDisposableStack();
  const copy = await mkdtemp(join(tmpdir(), 'kustomize-'));
  stack.defer(() => rm(copy, { recursive: true, force: true }));
  await cp(root, copy, { recursive: true });
  if (await isOld(kubectl)) await rewriteForOldKustomize(copy);
  const { stdout } = await execute(kubectl, ['kustomize', join(copy, folder)], { maxBuffer: 64 * 1024 * 1024 });
  return renderedIn(stdout);
}

/** The objects of a file of deploy/kubernetes. */
export async function renderFile(path: string): Promise<readonly Rendered[]> {
  return renderedIn(await readFile(join(root, path), 'utf8'));
}

/** The objects in a text of YAML. */
export function renderedIn(text: string): readonly Rendered[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    const value: unknown = document.toJS();
    return value === null ? [] : [toRendered(value)];
  });
}

export function toRendered(value: unknown): Rendered {
  const { apiVersion, kind, metadata } = shape.parse(value);
  const document = z.record(z.string(), z.unknown()).parse(value);
  return { apiVersion, kind, name: metadata.name, labels: metadata.labels, document };
}

const shape = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
});

const execute = promisify(execFile);

/**
 * kubectl of this machine, otherwise of Debian's package. Without either the tests fail: no other
 * program renders in the same way.
 */
async function findKubectl(): Promise<string> {
  const wanted = { name: 'kubectl', programs: ['kubectl'], packages: ['kubernetes-client'] };
  const { folder } = await findPrograms(wanted).catch((thrown: unknown) => {
    throw new Error('The overlays of deploy/kubernetes are rendered by kubectl, which is not here. Install it.', {
      cause: thrown,
    });
  });
  return join(folder, 'kubectl');
}

/** Before 1.21 kubectl had Kustomize 2.0, which has other words for the same. */
async function isOld(kubectl: string): Promise<boolean> {
  const { stdout } = await execute(kubectl, ['version', '--client', '--output=json']);
  const { clientVersion } = z.object({ clientVersion: z.object({ minor: z.string() }) }).parse(JSON.parse(stdout));
  return Number.parseInt(clientVersion.minor, 10) < 21;
}

async function rewriteForOldKustomize(folder: string): Promise<void> {
  for await (const path of glob(join(folder, '**/kustomization.yaml'))) {
    const { resources, patches, ...members } = kustomization.parse(parse(await readFile(path, 'utf8')));
    const files = resources.filter((resource) => resource.endsWith('.yaml'));
    const bases = resources.filter((resource) => !files.includes(resource));
    const old = { ...members, bases, resources: files, patchesStrategicMerge: patches.map((patch) => patch.path) };
    await writeFile(path, stringify(old));
  }
}

const kustomization = z.looseObject({
  resources: z.array(z.string()),
  patches: z.array(z.strictObject({ path: z.string() })).default([]),
});
