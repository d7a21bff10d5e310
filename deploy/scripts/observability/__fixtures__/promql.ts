import { parser } from '@prometheus-io/lezer-promql';

/** A series of an expression. */
export interface Selector {
  readonly metric: string;
  /** The labels that select it, or that the aggregations around it group by. */
  readonly labels: readonly string[];
}

/** The series of an expression. @throws Error where it is not PromQL. */
export function selectorsIn(expr: string): readonly Selector[] {
  const found: Selector[] = [];
  /** The labels of the aggregations around the current position, the innermost last. */
  const around: string[][] = [];
  let current: { metric: string; labels: string[] } | undefined;
  parser.parse(expr).iterate({
    enter({ name, type, from, to, node }) {
      if (type.isError) throw new Error(`no PromQL at character ${from}: ${expr}`);
      const text = expr.slice(from, to);
      if (name === 'AggregateExpr') around.push(groupingLabels(node, expr));
      if (name === 'VectorSelector') current = { metric: '', labels: [] };
      if (name === 'Identifier' && current !== undefined) current.metric = text;
      if (name === 'LabelName' && current !== undefined) current.labels.push(text);
    },
    leave({ name }) {
      if (name === 'AggregateExpr') around.pop();
      if (name !== 'VectorSelector' || current === undefined) return;
      found.push({ metric: current.metric, labels: [...current.labels, ...around.flat()] });
      current = undefined;
    },
  });
  return found;
}

/** An expression of a dashboard as Grafana sends it if all values are chosen. */
export function withoutVariables(expr: string): string {
  return expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(namespace|job|instance|model|pool)\b/g, '.*');
}

type Node = ReturnType<ReturnType<typeof parser.parse>['resolve']>;

function groupingLabels(aggregation: Node, expr: string): string[] {
  const labels = aggregation.getChild('AggregateModifier')?.getChild('GroupingLabels')?.getChildren('LabelName') ?? [];
  return labels.map(({ from, to }) => expr.slice(from, to));
}
