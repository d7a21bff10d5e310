import type { IPodMonitor, IPrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { labelsOf, metadataOf } from '../kubernetes/objects/labels.ts';
import { yamlOf } from '../kubernetes/yaml-text.ts';
import { ruleGroups } from './rule-files.ts';
import { services } from './scrape-configs.ts';

const secret = 'prometheus-tls';

/** For clusters with the Prometheus operator: scrape targets and rules, by file name. */
export function operatorFiles(runbooks: string): ReadonlyMap<string, string> {
  return new Map([
    ['kubernetes/pod-monitors.yaml', yamlOf(services.map(podMonitor))],
    ['kubernetes/pod-monitors-mesh.yaml', yamlOf([podMonitorOfAll()])],
    ['kubernetes/rules.yaml', yamlOf([prometheusRule(runbooks)])],
  ]);
}

/** One for each service: Prometheus checks that the certificate is the service's. */
function podMonitor(service: string): IPodMonitor {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    metadata: metadataOf(service),
    spec: {
      jobLabel: 'app.kubernetes.io/name',
      selector: { matchLabels: labelsOf(service) },
      podMetricsEndpoints: [
        {
          ...endpoint,
          scheme: 'https',
          tlsConfig: {
            ca: { secret: { name: secret, key: 'ca.crt' } },
            cert: { secret: { name: secret, key: 'tls.crt' } },
            keySecret: { name: secret, key: 'tls.key' },
            serverName: service,
          },
        },
      ],
    },
  };
}

function podMonitorOfAll(): IPodMonitor {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    metadata: metadataOf('model-gateway'),
    spec: {
      jobLabel: 'app.kubernetes.io/name',
      selector: { matchLabels: { 'app.kubernetes.io/part-of': 'model-gateway' } },
      podMetricsEndpoints: [endpoint],
    },
  };
}

/** A pod's name outlives its address: an edge that comes back is the same one. */
const endpoint = {
  port: 'admin',
  path: '/metrics',
  interval: '15s',
  relabelings: [{ sourceLabels: ['__meta_kubernetes_pod_name'], targetLabel: 'instance' }],
};

function prometheusRule(runbooks: string): IPrometheusRule {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: metadataOf('model-gateway'),
    spec: { groups: ruleGroups(runbooks).map(({ rules, ...group }) => ({ ...group, rules: [...rules] })) },
  };
}
