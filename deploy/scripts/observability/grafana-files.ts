import { documentText } from '../kubernetes/yaml-text.ts';
import { dashboards } from './dashboards/all-dashboards.ts';
import { dashboardOf } from './dashboards/dashboard.ts';

/** Dashboards to import, and the files that make a Grafana in a container show them. */
export function grafanaFiles(runbooks: string): ReadonlyMap<string, string> {
  return new Map([
    ...dashboards.map((each) => [`grafana/${each.file}`, json(dashboardOf(each, runbooks))] as const),
    ['grafana/provisioning/datasources/prometheus.yaml', documentText(datasources)],
    ['grafana/provisioning/dashboards/model-gateway.yaml', documentText(providers)],
  ]);
}

/** The path at which the dashboards are mounted. */
const dashboardFolder = '/var/lib/grafana/dashboards';

const datasources = {
  apiVersion: 1,
  datasources: [
    {
      name: 'Prometheus',
      uid: 'prometheus',
      type: 'prometheus',
      access: 'proxy',
      url: 'http://prometheus:9090',
      isDefault: true,
      jsonData: { timeInterval: '15s' },
    },
  ],
};

const providers = {
  apiVersion: 1,
  providers: [
    {
      name: 'model-gateway',
      folder: 'Model gateway',
      type: 'file',
      allowUiUpdates: true,
      options: { path: dashboardFolder },
    },
  ],
};

/** Grafana's newer menu of controls would hide links. */
function json(dashboard: object): string {
  const text = JSON.stringify(
    dashboard,
    (name, value: unknown) => (name === 'placement' && value === 'inControlsMenu' ? undefined : value),
    2,
  );
  return `${text}\n`;
}
