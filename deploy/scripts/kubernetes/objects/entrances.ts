import type { IHTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import type { IIngress } from 'kubernetes-models/networking.k8s.io/v1';
import type { Values } from '../values.ts';
import { metadataOf } from './labels.ts';

/** Streams pass through as they come: nothing is held back, and no proxy ends what is silent for a while. */
export function ingress({ ingress: { annotations, className, host, tlsSecret } }: Values): IIngress {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { ...metadataOf('gateway', 'edge-router'), annotations },
    spec: {
      ingressClassName: className,
      tls: [{ hosts: [host], secretName: tlsSecret }],
      rules: [
        {
          host,
          http: {
            paths: [
              { path: '/', pathType: 'Prefix', backend: { service: { name: 'gateway', port: { name: 'http' } } } },
            ],
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
