import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1';
import type { IService } from 'kubernetes-models/v1';
import { portNumbers, type Service } from '../services.ts';
import type { Values } from '../values.ts';
import { labelsOf, metadataOf } from './labels.ts';

/**
 * The name under which callers find every ready replica. They keep a stream to each replica and
 * look the name up again by themselves, so it must not stand for one virtual address.
 */
export function headlessService(service: Pick<Service, 'name' | 'ports'>, pods = service.name): IService {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(service.name, pods),
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: false,
      selector: labelsOf(pods),
      ports: service.ports
        .filter((name) => name !== 'public')
        .map((name) => ({ name, port: portNumbers[name], targetPort: name, protocol: 'TCP' })),
    },
  };
}

/** The Service that clients reach, through an Ingress, a Gateway or a load balancer. */
export function publicService(service: string, { publicService: { type, annotations } }: Values): IService {
  const metadata = metadataOf('gateway', service);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    spec: {
      type,
      selector: labelsOf(service),
      ports: [{ name: 'http', port: 80, targetPort: 'public', protocol: 'TCP', appProtocol: 'http' }],
    },
  };
}

/** Nodes are drained one replica at a time. A replica that is not ready does not block draining. */
export function disruptionBudget(service: string): IPodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadataOf(service),
    spec: {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: labelsOf(service) },
    },
  };
}
