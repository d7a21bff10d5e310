import type { IHTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1';
import type { IIngress } from 'kubernetes-models/networking.k8s.io/v1';
import type { Values } from '../values.ts';
import { metadataOf } from './labels.ts';
import { smallName } from './small-form.ts';

/**
 * Streams pass through as they come: there is no buffering, and no proxy ends a silent connection
 * too early.
 */
export function ingress(values: Values): IIngress {
  return ingressTo(publicPods(values), { name: 'gateway', port: { name: 'http' } }, values.ingress);
}

/** Only for operators: the network in front of it authenticates them, and they sign in. */
export function adminIngress(values: Values): IIngress {
  const { adminIngress: chosen, form, transport } = values;
  const overTls = form === 'full' && transport === 'tls' && { 'nginx.ingress.kubernetes.io/backend-protocol': 'HTTPS' };
  const entrance = { ...chosen, annotations: { ...overTls, ...chosen.annotations } };
  return ingressTo(form === 'small' ? smallName : 'admin', { name: 'admin', port: { name: 'admin' } }, entrance);
}

/** The workload whose pods serve clients. */
function publicPods({ form }: Values): string {
  return form === 'small' ? smallName : 'edge-router';
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

/**
 * A Gateway's default timeout ends requests after some seconds: 0s disables it. The edge has limits
 * of its own.
 */
export function httpRoute(values: Values): IHTTPRoute {
  const { host, parentRefs } = values.gatewayApi;
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: metadataOf('gateway', publicPods(values)),
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
