import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1';
import type { IService } from 'kubernetes-models/v1';
import { portNumbers, type Service } from '../services.ts';
import { labelsOf, metadataOf } from './labels.ts';

/**
 * The name under which callers find every ready replica. They keep a stream to each replica and
 * look the name up again by themselves, so it must not stand for one virtual address.
 */
export function headlessService(service: Service): IService {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(service.name),
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: false,
      selector: labelsOf(service.name),
      ports: service.ports
        .filter((name) => name !== 'public')
        .map((name) => ({ name, port: portNumbers[name], targetPort: name, protocol: 'TCP' })),
    },
  };
}

/** The Service that clients reach, through an Ingress, a Gateway or a load balancer. */
export function publicService(service: Service): IService {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf('gateway', service.name),
    spec: {
      type: 'ClusterIP',
      selector: labelsOf(service.name),
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
