import type { IServiceAccount } from 'kubernetes-models/v1';
import type { Values } from '../values.ts';
import { metadataOf } from './labels.ts';
import { accountName } from './pod.ts';

/** The account of all pods, if it is not one that exists. */
export function serviceAccounts(values: Values): readonly IServiceAccount[] {
  const { create, annotations } = values.serviceAccount;
  if (!create) return [];
  const given = Object.keys(annotations).length > 0 ? { annotations } : {};
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { ...metadataOf(accountName(values), 'model-gateway'), ...given },
      automountServiceAccountToken: false,
    },
  ];
}
