import type { IHTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import type { IIngress } from 'kubernetes-models/networking.k8s.io/v1';
import type { Values } from '../values.ts';
import { metadataOf } from './labels.ts';

/** Streams pass through as they come: nothing is held back, and no proxy ends what is silent for a while. */
export function ingress(values: Values): IIngress {
  return ingressTo('edge-router', { name: 'gateway', port: { name: 'http' } }, values.ingress);
}

/** For operators alone: the network before it says who they are, and they sign in. */
export function adminIngress(values: Values): IIngress {
  return ingressTo('admin', { name: 'admin', port: { name: 'admin' } }, values.adminIngress);
}

function ingressTo(
  owner: string,
  service: { readonly name: string; readonly port: { readonly name: string } },
  { annotations, className, host, tlsSecret }: Values['ingress'],
): IIngress {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { ...metadataOf(service.name, owner), annotations },
    spec: {
      ingressClassName: className,
      tls: [{ hosts: [host], secretName: tlsSecret }],
      rules: [
        {
          host,
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service } }],
          },
        },
      ],
    },
  };
}

/** A Gateway's own default ends requests after some seconds: 0s takes that away. The edge has limits of its own. */
export function httpRoute({ gatewayApi: { host, parentRefs } }: Values): IHTTPRoute {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: metadataOf('gateway', 'edge-router'),
    spec: {
      parentRefs,
      hostnames: [host],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          timeouts: { request: '0s', backendRequest: '0s' },
          backendRefs: [{ name: 'gateway', port: 80 }],
        },
      ],
    },
  };
}
