import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPrograms } from '@gateway/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Rendered, renderedIn, renderFolder } from '../kubernetes/__fixtures__/rendered.ts';
import { schemaProblems } from '../kubernetes/__fixtures__/strict-schemas.ts';
import { allAlerts } from './alerts/all-alerts.ts';
import { dashboards } from './dashboards/all-dashboards.ts';

const folder = join(import.meta.dirname, '../../observability');
const endpoint = z.object({
  port: z.string(),
  scheme: z.string().optional(),
  tlsConfig: z
    .object({ serverName: z.string(), cert: z.object({ secret: z.object({ name: z.string() }) }) })
    .optional(),
});
const monitor = z.object({
  spec: z.object({
    jobLabel: z.literal('app.kubernetes.io/name'),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    podMetricsEndpoints: z.array(endpoint).length(1),
  }),
});

describe('what a cluster gets of deploy/observability', () => {
  it('fits the schemas of Kubernetes and of the operator of Prometheus', async () => {
    const objects = [...(await kustomized()), ...(await objectsIn('kubernetes/pod-monitors-mesh.yaml'))];
    expect(new Set(objects.map(({ kind }) => kind))).toEqual(new Set(['ConfigMap', 'PodMonitor', 'PrometheusRule']));
    expect(objects.flatMap(({ name, document }) => schemaProblems(document).map((text) => `${name}: ${text}`))).toEqual(
      [],
    );
  });

  it('scrapes the admin port of every pod of deploy/kubernetes, as the service that its certificate names', async () => {
    const pods = await podsWithAdminPorts();
    const monitors = (await objectsIn('kubernetes/pod-monitors.yaml')).map(
      ({ document }) => monitor.parse(document).spec,
    );
    const chosen = pods.map((labels) =>
      monitors.filter(({ selector }) =>
        Object.entries(selector.matchLabels).every(([name, value]) => labels[name] === value),
      ),
    );
    expect(
      chosen.map((each) => each.map(({ podMetricsEndpoints }) => podMetricsEndpoints[0]?.tlsConfig?.serverName)),
    ).toEqual(pods.map((labels) => [labels['app.kubernetes.io/name']]));
    expect(new Set(monitors.map(({ podMetricsEndpoints }) => podMetricsEndpoints[0]?.port))).toEqual(
      new Set(['admin']),
    );
    expect(new Set(monitors.map(({ podMetricsEndpoints }) => podMetricsEndpoints[0]?.scheme))).toEqual(
      new Set(['https']),
    );
  });

  it('has every alert and every dashboard', async () => {
    const objects = await kustomized();
    const rules = JSON.stringify(objects.find(({ kind }) => kind === 'PrometheusRule')?.document);
    expect(allAlerts.filter(({ name }) => !rules.includes(`"alert":"${name}"`))).toEqual([]);
    const configMap = objects.find(({ kind }) => kind === 'ConfigMap');
    expect(configMap?.labels).toMatchObject({ grafana_dashboard: '1' });
    const data = z.record(z.string(), z.string()).parse(configMap?.document.data);
    expect(Object.keys(data).toSorted()).toEqual(dashboards.map(({ file }) => file).toSorted());
  });
});

/** The labels of the pods that the overlay of production starts. */
async function podsWithAdminPorts(): Promise<readonly Readonly<Record<string, string>>[]> {
  const workload = z.object({
    spec: z.object({ template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) }) }),
  });
  const objects = await renderFolder('overlays/production');
  const pods = objects
    .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
    .map(({ document }) => workload.parse(document).spec.template.metadata.labels);
  expect(pods.length).toBe(9);
  return pods;
}

async function objectsIn(path: string): Promise<readonly Rendered[]> {
  return renderedIn(await readFile(join(folder, path), 'utf8'));
}

async function kustomized(): Promise<readonly Rendered[]> {
  const programs = await findPrograms({ name: 'kubectl', programs: ['kubectl'], packages: ['kubernetes-client'] });
  const { stdout } = await promisify(execFile)(join(programs.folder, 'kubectl'), ['kustomize', folder], {
    maxBuffer: 16 * 1024 * 1024,
  });
  return renderedIn(stdout);
}
