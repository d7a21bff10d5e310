import type { IConfigMap } from 'kubernetes-models/v1';
import { services } from '../services.ts';
import type { Values } from '../values.ts';
import { metadataOf } from './labels.ts';

/**
 * Settings that an operator adds, for all services and for each, and gateway.yaml. None of them is
 * secret.
 */
export function settings(values: Values): readonly IConfigMap[] {
  return [
    configMap('gateway-settings', 'model-gateway', values.settings),
    ...services.map(({ name, key }) => configMap(`${name}-settings`, name, values.services[key].settings)),
    gatewayConfig('pool-broker', values),
  ];
}

export function gatewayConfig(service: string, { gatewayYaml }: Values): IConfigMap {
  return configMap('gateway-config', service, { 'gateway.yaml': gatewayYaml });
}

export function configMap(name: string, service: string, data: Record<string, string>): IConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadataOf(name, service), data };
}
