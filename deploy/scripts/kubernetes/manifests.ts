import { autoscaler } from './objects/autoscaler.ts';
import { certificates } from './objects/certificates.ts';
import { migrationJob } from './objects/migration.ts';
import { migrationPolicy, networkPolicy } from './objects/network-policies.ts';
import { serviceAccounts } from './objects/service-account.ts';
import { disruptionBudget, headlessService, publicService } from './objects/services.ts';
import { settings } from './objects/settings.ts';
import { smallForm, smallSettings } from './objects/small-form.ts';
import { type WorkloadChoices, workload } from './objects/workload.ts';
import { type Service, services } from './services.ts';
import type { Values } from './values.ts';

/** Any object of Kubernetes. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly annotations?: object };
}

/** The objects of one file, by the file's name without ".yaml". */
export type Manifests = ReadonlyMap<string, readonly KubernetesObject[]>;

/** The base: a file for each service, with all that belongs to it, settings, and the migration. */
export function coreManifests(values: Values, choices: WorkloadChoices): Manifests {
  return new Map<string, readonly KubernetesObject[]>([
    ...services.map((service) => [service.name, objectsOf(service, values, choices)] as const),
    ['settings', [...settings(values), ...serviceAccounts(values)]],
    ['migrate', [migrationJob(values), migrationPolicy(values)]],
  ]);
}

/** The small form: the whole gateway in one pod. */
export function smallManifests(values: Values): Manifests {
  return new Map<string, readonly KubernetesObject[]>([
    ['gateway', smallForm(values)],
    ['settings', [...smallSettings(values), ...serviceAccounts(values)]],
  ]);
}

export function autoscalers(values: Values): readonly KubernetesObject[] {
  return services.map((service) => autoscaler(service, values));
}

export { certificates };

function objectsOf(service: Service, values: Values, choices: WorkloadChoices): readonly KubernetesObject[] {
  return [
    workload(service, values, choices),
    headlessService(service),
    ...(service.ports.includes('public') ? [publicService(service.name, values)] : []),
    disruptionBudget(service.name),
    networkPolicy(service, values),
  ];
}
