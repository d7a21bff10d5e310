import { visibleText } from '@gateway/presentation/visible-text';
import { Document, isMap, isPair, isScalar, isSeq, type Node } from 'yaml';
import type { ImportedClass } from './classes.ts';
import { type Finding, findingsByText } from './findings.ts';
import type { ImportedPool } from './gateway-parts.ts';
import type { ImportedPrice } from './prices.ts';

export interface ImportedGateway {
  readonly pools: readonly ImportedPool[];
  readonly classes: readonly ImportedClass[];
  readonly prices: readonly ImportedPrice[];
  readonly settings: Readonly<Record<string, number>>;
}

/** The text of gateway.yaml, with comments that say where its parts come from. */
export function gatewayText(gateway: ImportedGateway, name: string, left: readonly Finding[]): string {
  const { pools, classes, prices, settings } = gateway;
  const parts = {
    pools: Object.fromEntries(pools.map((pool) => [pool.name, writtenPool(pool)])),
    accounts: pools.flatMap(writtenAccounts),
    ...(classes.length > 0 && { classes: Object.fromEntries(classes.map(writtenClass)) }),
    prices: prices.length === 0 ? 'builtin' : { currency: 'USD', models: prices },
    ...(Object.keys(settings).length > 0 && { settings }),
  };
  const document = new Document(parts, { aliasDuplicateObjects: false });
  document.commentBefore = comment(`gatewayctl import litellm made this file from ${name}.`);
  const sections = [
    ['pools', sectionComments.pools],
    ['accounts', sectionComments.accounts],
    ['classes', sectionComments.classes],
    ['prices', prices.length === 0 ? sectionComments.builtinPrices : sectionComments.prices],
    ['settings', sectionComments.settings],
  ] as const;
  for (const [section, text] of sections) remarkKey(document.contents, section, text);
  for (const [index, { deployments }] of pools.flatMap(({ accounts }) => accounts).entries()) {
    const groups = [...new Set(deployments.map(({ group }) => group))];
    remark(document.getIn(['accounts', index], true), `For ${groups.join(', ')}.`);
  }
  for (const { name: className, group } of classes) {
    remarkKey(document.get('classes'), className, `Clients send gateway/${className} instead of ${group}.`);
  }
  const remains = findingsByText(left).map(({ text, places }) => [text, ...places.map((place) => `- ${place}`)]);
  document.comment = left.length === 0 ? null : comment(['Left out:', ...remains.flat()].join('\n'));
  return document.toString({ lineWidth: 0 });
}

const sectionComments = {
  pools: 'One pool for each address of a provider.',
  accounts: 'One account for each key. The keys are in the environment, or in files that NAME_FILE names.',
  classes:
    'Models with other names, with several deployments or with fallbacks. The effort is that of requests without one.',
  prices: 'From the file. A model without a price costs nothing.',
  builtinPrices: 'The list prices that are shipped with the gateway, in USD. The file had none of its own.',
  settings: 'From router_settings.',
};

function writtenPool({ format, ownedBy, baseUrl, modelPatterns, modelsWithoutEffort }: ImportedPool) {
  const traits = Object.fromEntries(modelsWithoutEffort.map((model) => [model, { efforts: [] }]));
  return {
    ...{ format, owned_by: ownedBy, base_url: baseUrl },
    ...(modelPatterns && { model_patterns: modelPatterns }),
    ...(modelsWithoutEffort.length > 0 && { models: traits }),
  };
}

function writtenAccounts({ name: pool, format, accounts }: ImportedPool) {
  return accounts.map(({ name, key, models, labels, maxConcurrency }) => ({
    ...{ pool, name, credential: format === 'messages' ? { api_key: key } : { bearer: key } },
    ...(models && { models }),
    ...(labels.length > 0 && { labels }),
    ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
  }));
}

function writtenClass({ name, group, effort, candidates }: ImportedClass) {
  return [name, { name: group, effort, candidates }] as const;
}

function remarkKey(map: unknown, key: string, text: string): void {
  const items: readonly unknown[] = isMap(map) ? map.items : [];
  for (const pair of items) {
    if (isPair(pair) && isScalar(pair.key) && pair.key.value === key) remark(pair.key, text);
  }
}

function remark(node: unknown, text: string): void {
  if (isScalar(node) || isMap(node) || isSeq(node)) (node satisfies Node).commentBefore = comment(text);
}

/** Each line begins with a space, after the `#`. A line has no character that could end it. */
function comment(text: string): string {
  return text
    .split('\n')
    .map((line) => ` ${visibleText(line)}`)
    .join('\n');
}
