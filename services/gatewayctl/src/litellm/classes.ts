import type { Deployment } from './deployments.ts';
import { type ImportedPool, Names, poolOf } from './gateway-parts.ts';
import type { InputValue } from './input-value.ts';

/** A class of gateway.yaml: a group of deployments, or another name of one. */
export interface ImportedClass {
  readonly name: string;
  /** What clients of LiteLLM send. */
  readonly group: string;
  readonly effort: string;
  /** `pool/model`, in order of preference. */
  readonly candidates: readonly string[];
}

/**
 * The classes for groups that are more than one model of one pool under its own name.
 * @param deployments of the groups that clients name, without patterns.
 */
export function classesOf(
  root: InputValue,
  deployments: readonly Deployment[],
  pools: readonly ImportedPool[],
): readonly ImportedClass[] {
  const groups = Map.groupBy(deployments, ({ group }) => group);
  const candidates = new Map([...groups].map(([group, its]) => [group, candidatesOf(its, pools)]));
  const fallbacks = readFallbacks(root, candidates);
  const names = new Names();
  const classes = [...groups].flatMap(([group, its]): readonly ImportedClass[] => {
    const own = candidates.get(group) ?? [];
    const further = (fallbacks.get(group) ?? []).flatMap((target) => candidates.get(target) ?? []);
    const all = [...new Set([...own, ...further])];
    const effort = its.find((each) => each.effort !== undefined)?.effort;
    const isDirect = all.length === 1 && its.every(({ model, listsOtherNames }) => model === group && !listsOtherNames);
    if (isDirect && effort === undefined) return [];
    return [{ name: names.free(group), group, effort: effort ?? defaultEffort(its), candidates: all }];
  });
  return [...classes, ...aliasesOf(root, groups, candidates, classes, names)];
}

/** LiteLLM sends no effort by itself, which the provider takes for this one. */
function defaultEffort([first]: readonly Deployment[]): string {
  return first?.format === 'messages' ? 'none' : 'medium';
}

function candidatesOf(deployments: readonly Deployment[], pools: readonly ImportedPool[]): readonly string[] {
  const inOrder = deployments.toSorted((one, other) => one.order - other.order);
  return [...new Set(inOrder.map((each) => `${poolOf(pools, each)?.name}/${each.model}`))];
}

/** What a group falls back to. The settings of the router win. */
function readFallbacks(root: InputValue, groups: ReadonlyMap<string, unknown>): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const section of ['litellm_settings', 'router_settings']) {
    const fallbacks = root.at(section, 'fallbacks');
    for (const entry of [fallbacks, ...fallbacks.items()]) {
      for (const [group, targets] of entry.members()) {
        if (!groups.has(group)) {
          targets.leave(`The model ${group} is not taken as a model of its own, so nothing falls back from it.`);
          continue;
        }
        found.set(
          group,
          targets.items().flatMap((target) => readTarget(target, groups)),
        );
      }
    }
  }
  return found;
}

function readTarget(target: InputValue, groups: ReadonlyMap<string, unknown>): readonly string[] {
  const name = typeof target.value === 'string' ? target.value : undefined;
  if (name !== undefined && groups.has(name)) {
    target.take();
    return [name];
  }
  target.leave(
    name === undefined
      ? 'Only names of models can be candidates.'
      : `The model ${name} is not taken as a model of its own, so it is no candidate.`,
  );
  return [];
}

function aliasesOf(
  root: InputValue,
  groups: ReadonlyMap<string, readonly Deployment[]>,
  candidates: ReadonlyMap<string, readonly string[]>,
  classes: readonly ImportedClass[],
  names: Names,
): readonly ImportedClass[] {
  return root
    .at('router_settings', 'model_group_alias')
    .members()
    .flatMap(([alias, target]): readonly ImportedClass[] => {
      const named = target.text === undefined ? target.at('model') : target;
      const group = named.text ?? '';
      const its = groups.get(group);
      if (its === undefined) {
        target.leave(`The model ${group} is not taken as a model of its own.`);
        return [];
      }
      if (alias.trim() === '' || alias.includes('${') || groups.has(alias)) {
        target.leave('A model of the list has the same name, or the name can not be written.');
        return [];
      }
      named.take();
      const same = classes.find((each) => each.group === group);
      const effort = same?.effort ?? defaultEffort(its);
      const all = same?.candidates ?? candidates.get(group) ?? [];
      return [{ name: names.free(alias), group: alias, effort, candidates: all }];
    });
}
