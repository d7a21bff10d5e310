import { documentText } from '../kubernetes/yaml-text.ts';
import { jobs } from './alerts/processes.ts';

/**
 * A job of Prometheus, named as the service: alerts and dashboards identify services by that name.
 */
export interface ScrapeJob {
  readonly job: string;
  readonly targets: readonly string[];
  /** Files of Prometheus' own certificate, if services speak TLS. */
  readonly tls?: CertificateFiles;
}

export interface CertificateFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** The services that can run by themselves. */
export const services = jobs.filter((job) => job !== 'gateway');

const adminPort = 9090;
const inContainer: CertificateFiles = {
  caFile: '/etc/prometheus/tls/ca.crt',
  certFile: '/etc/prometheus/tls/tls.crt',
  keyFile: '/etc/prometheus/tls/tls.key',
};

/** Configurations of Prometheus by the names of their files. Each expects rules.yaml beside it. */
export function scrapeConfigFiles(): ReadonlyMap<string, string> {
  const eachService = services.map((job): ScrapeJob => ({ job, targets: [`${job}:${adminPort}`] }));
  return new Map([
    ['prometheus.yaml', scrapeConfig(eachService)],
    ['prometheus-tls.yaml', scrapeConfig(eachService.map((each) => ({ ...each, tls: inContainer })))],
    ['prometheus-one-process.yaml', scrapeConfig([{ job: 'gateway', targets: [`127.0.0.1:${adminPort}`] }])],
    ['prometheus-kubernetes.yaml', documentText({ ...common('rules.yaml'), scrape_configs: services.map(podsOf) })],
  ]);
}

export function scrapeConfig(scraped: readonly ScrapeJob[], rulesFile = 'rules.yaml', intervalSeconds = 15): string {
  return documentText({
    ...common(rulesFile, intervalSeconds),
    scrape_configs: scraped.map(({ job, targets, tls }) => ({
      job_name: job,
      ...(tls !== undefined && tlsOf(job, tls)),
      static_configs: [{ targets: [...targets] }],
    })),
  });
}

function common(rulesFile: string, intervalSeconds = 15) {
  return {
    global: { scrape_interval: `${intervalSeconds}s`, evaluation_interval: `${intervalSeconds}s` },
    rule_files: [rulesFile],
  };
}

/** The certificate has the service's name, whatever the address. */
function tlsOf(job: string, { caFile, certFile, keyFile }: CertificateFiles) {
  return {
    scheme: 'https',
    tls_config: { ca_file: caFile, cert_file: certFile, key_file: keyFile, server_name: job },
  };
}

/**
 * Without the Prometheus operator: pods are found by their labels, and identified by their names,
 * which outlive their addresses.
 */
function podsOf(job: string) {
  return {
    job_name: job,
    ...tlsOf(job, inContainer),
    kubernetes_sd_configs: [{ role: 'pod' }],
    relabel_configs: [
      keep('__meta_kubernetes_pod_label_app_kubernetes_io_part_of', 'model-gateway'),
      keep('__meta_kubernetes_pod_label_app_kubernetes_io_name', job),
      keep('__meta_kubernetes_pod_container_port_name', 'admin'),
      copy('__meta_kubernetes_namespace', 'namespace'),
      copy('__meta_kubernetes_pod_name', 'pod'),
      copy('__meta_kubernetes_pod_name', 'instance'),
    ],
  };
}

function keep(label: string, regex: string) {
  return { source_labels: [label], regex, action: 'keep' };
}

function copy(label: string, to: string) {
  return { source_labels: [label], target_label: to };
}
