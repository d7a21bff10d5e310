import { Certificate, Issuer } from '@kubernetes-models/cert-manager/cert-manager.io/v1';
import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import { PodMonitor, PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Pod, Secret, Service, ServiceAccount } from 'kubernetes-models/v1';

/**
 * Kinds with the compiled schemas of Kubernetes' own API description, and of the extensions that
 * are used.
 */
const models = [
  ...[Deployment, StatefulSet, HorizontalPodAutoscaler, Job, Ingress, NetworkPolicy, PodDisruptionBudget],
  ...[ConfigMap, Pod, Secret, Service, ServiceAccount, Certificate, Issuer, HTTPRoute, PodMonitor, PrometheusRule],
];

/**
 * The problems of an object: violations of its schema, and every field that its schema does not
 * know. The schemas allow any field, but never read a field that they do not list. So a field that
 * was not read during validation is unknown.
 */
export function schemaProblems(object: Readonly<Record<string, unknown>>): readonly string[] {
  const { apiVersion, kind } = object;
  const model = models.find((candidate) => candidate.apiVersion === apiVersion && candidate.kind === kind);
  if (model === undefined) return [`${apiVersion}/${kind} is no kind that there is a schema for`];
  const read = new Set<string>();
  const errors = errorsOf(() => model.prototype.validate.call(recording(object, '', read)));
  const unknown = pathsIn(object, '').filter((path) => !read.has(path));
  return [...errors, ...unknown.map((path) => `${path} is no field of ${kind}`)];
}

function errorsOf(validate: () => void): readonly string[] {
  try {
    validate();
    return [];
  } catch (thrown) {
    return [thrown instanceof Error ? thrown.message : String(thrown)];
  }
}

/** The same value; reading a part records its path. */
function recording(value: object, path: string, read: Set<string>): object {
  return new Proxy(value, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol') return member;
      read.add(`${path}/${name}`);
      return typeof member === 'object' && member !== null ? recording(member, `${path}/${name}`, read) : member;
    },
  });
}

function pathsIn(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [`${path}/${name}`, ...pathsIn(member, `${path}/${name}`)]);
}
