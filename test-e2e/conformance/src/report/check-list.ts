import type { Check } from '../check.ts';
import type { TableOptions } from './table-report.ts';

/** The checks and their rules, for programs. */
export function jsonList(checks: readonly Check[]): string {
  const rows = checks.map(({ name, level, endpoints, needs = [], rule, source }) => ({
    ...{ name, level, endpoints, needs, rule, source },
  }));
  return `${JSON.stringify(rows, undefined, 2)}\n`;
}

/** The checks and their rules, for people: a line each, cut at the width of the terminal. */
export function tableList(checks: readonly Check[], { width, color = (text) => text }: TableOptions = {}): string {
  const rows = [
    headings,
    ...checks.map(({ name, level, needs = [], rule }) => [name, level, needs.join(', '), rule] as const),
  ];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const [first = '', ...lines] = rows.map((row) => {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
    return line.slice(0, width).trimEnd();
  });
  return [color(first, 'dim'), ...lines, ''].join('\n');
}

const headings = ['check', 'level', 'needs', 'rule'] as const;
