/**
 * The labels of the pods and objects of one service. Selectors use the same labels: a namespace has
 * one gateway.
 */
export function labelsOf(name: string): Record<string, string> {
  return { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'model-gateway' };
}

export function metadataOf(name: string, service = name) {
  return { name, labels: labelsOf(service) };
}
