import { documentText } from '../kubernetes/yaml-text.ts';
import { dashboards } from './dashboards/all-dashboards.ts';
import { grafanaFiles } from './grafana-files.ts';
import { operatorFiles } from './operator-objects.ts';
import { defaultRunbooks, rulesFile, ruleTestFiles } from './rule-files.ts';
import { scrapeConfigFiles } from './scrape-configs.ts';

const header = '# Written by `npm run generate:observability` from deploy/scripts/observability. Change it there.\n';

/**
 * The content of deploy/observability: the text of each file by its path. Other files there are
 * written by hand.
 */
export function observabilityFiles(runbooks = defaultRunbooks): ReadonlyMap<string, string> {
  const files = new Map([
    ...grafanaFiles(runbooks),
    ['prometheus/rules.yaml', rulesFile(runbooks)],
    ...inFolder('prometheus', ruleTestFiles(runbooks)),
    ...inFolder('prometheus', scrapeConfigFiles()),
    ...operatorFiles(runbooks),
    ['kustomization.yaml', documentText(kustomization)],
  ]);
  return new Map([...files].map(([path, text]) => [path, path.endsWith('.json') ? text : header + text]));
}

/**
 * For clusters with the Prometheus operator, and a Grafana whose sidecar looks for ConfigMaps with
 * this label.
 */
const kustomization = {
  apiVersion: 'kustomize.config.k8s.io/v1beta1',
  kind: 'Kustomization',
  resources: ['kubernetes/pod-monitors.yaml', 'kubernetes/rules.yaml'],
  generatorOptions: { disableNameSuffixHash: true, labels: { grafana_dashboard: '1' } },
  configMapGenerator: [{ name: 'model-gateway-dashboards', files: dashboards.map(({ file }) => `grafana/${file}`) }],
};

function inFolder(folder: string, files: ReadonlyMap<string, string>): readonly (readonly [string, string])[] {
  return [...files].map(([name, text]) => [`${folder}/${name}`, text] as const);
}
