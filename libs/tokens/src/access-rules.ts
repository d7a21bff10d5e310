import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import type { AccessRules, Group, Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LabelSet, Model } from '@gateway/proto/pool/v1/model_pb.js';

/** What a token and its group may use. Most tokens have no rules, and pass with one comparison. */
type Ruled = Pick<Token, 'access'> & { readonly group?: Pick<Group, 'access'> | undefined };

/** Whether a model, as clients name it, exists for a token. */
export function mayUseModel({ access, group }: Ruled, model: string): boolean {
  return allowsModel(access, model) && allowsModel(group?.access, model);
}

/** The labels that an account needs: at least one of each set. */
export function labelSetsOf({ access, group }: Ruled): Pick<LabelSet, 'labels'>[] {
  return [access, group?.access].flatMap((rules) =>
    rules === undefined || rules.accountLabels.length === 0 ? [] : [{ labels: rules.accountLabels }],
  );
}

/** The models of a listing that exist for a token. */
export function modelsFor<M extends Pick<Model, 'id' | 'servedBy'>>(token: Ruled, models: readonly M[]): readonly M[] {
  if (token.access === undefined && token.group?.access === undefined) return models;
  const sets = labelSetsOf(token);
  return models.filter(({ id, servedBy }) => {
    const isServed = sets.length === 0 || servedBy.some(({ labels }) => satisfies(labels, sets));
    return isServed && mayUseModel(token, id);
  });
}

function allowsModel(rules: AccessRules | undefined, model: string): boolean {
  return rules === undefined || rules.models.length === 0 || matchesAnyPattern(model, rules.models);
}

function satisfies(labels: readonly string[], sets: readonly Pick<LabelSet, 'labels'>[]): boolean {
  return sets.every((set) => set.labels.some((label) => labels.includes(label)));
}
