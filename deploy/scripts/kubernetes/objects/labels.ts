/** What the pods and objects of one service are known by. Selectors are made of the same: a namespace holds one gateway. */
export function labelsOf(name: string): Record<string, string> {
  return { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'model-gateway' };
}

export function metadataOf(name: string, service = name) {
  return { name, labels: labelsOf(service) };
}
