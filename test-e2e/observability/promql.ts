import { parser } from '@prometheus-io/lezer-promql';

/**
 * The selectors of an expression, without their ranges: `up{job="edge-router"}`. @throws Error for
 * invalid PromQL.
 */
export function selectorsOf(expression: string): readonly string[] {
  const selectors: string[] = [];
  parser.parse(expression).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`not PromQL at ${node.from}: ${expression}`);
      if (node.name !== 'VectorSelector') return;
      selectors.push(expression.slice(node.from, node.to));
    },
  });
  return selectors;
}
