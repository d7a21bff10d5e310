import type { GroupListing, ListGroupsResponse } from '@gateway/proto/admin/v1/group_service_pb.js';
import { UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { type Finding, fine, note, warning } from './finding.ts';

type Known = Pick<ListGroupsResponse, 'groups' | 'currency' | 'modelsWithoutPrice'>;

/** What happens to models without a price. Nothing if there are neither prices nor budgets. */
export function priceFindings({ groups, currency, modelsWithoutPrice }: Known): readonly Finding[] {
  const budgeted = groups.filter(({ group }) => group?.limits?.budget !== undefined);
  // Without both, the broker did not answer.
  if (currency === '' && budgeted.length > 0 && modelsWithoutPrice.length > 0)
    return [warning('prices', noPrices(budgeted), remedy)];
  const concerned = budgeted.filter((listing) => listing.modelsWithoutPrice.length > 0);
  const { refused = [], dearest = [] } = Object.groupBy(concerned, ({ group }) =>
    group?.unpricedModels === UnpricedModels.DEAREST ? 'dearest' : 'refused',
  );
  const findings = [
    ...(refused.length > 0 ? [warning('prices', `${inGroups(refused)}, refused: ${modelsOf(refused)}`, remedy)] : []),
    ...(dearest.length > 0
      ? [note('prices', `${inGroups(dearest)}, priced as the dearest of their pool: ${modelsOf(dearest)}`, remedy)]
      : []),
  ];
  if (findings.length > 0) return findings;
  if (modelsWithoutPrice.length > 0)
    return [note('prices', `models without a price, whose usage has no cost: ${shown(modelsWithoutPrice)}`, remedy)];
  return currency === '' ? [] : [fine('prices', 'every model has a price today')];
}

const remedy = 'Add their prices to gateway.yaml.';

function noPrices(budgeted: readonly GroupListing[]): string {
  return `there are no prices, so the budget refuses every request of ${namesOf(budgeted)}`;
}

function inGroups(listings: readonly GroupListing[]): string {
  return `models without a price in ${namesOf(listings)}`;
}

function namesOf(listings: readonly GroupListing[]): string {
  return `the ${listings.length === 1 ? 'group' : 'groups'} ${shown(listings.map(({ group }) => group?.name ?? ''))}`;
}

function modelsOf(listings: readonly GroupListing[]): string {
  return shown([...new Set(listings.flatMap((listing) => listing.modelsWithoutPrice))]);
}

function shown(names: readonly string[]): string {
  const more = names.length - mostShown;
  return `${names.slice(0, mostShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const mostShown = 10;
