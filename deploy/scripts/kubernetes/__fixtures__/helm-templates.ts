/** What a template is rendered with, as Helm calls it. */
export type ChartValues = Readonly<Record<string, unknown>>;

/**
 * Renders the part of Helm's template language that the chart is written in: conditions on lines of their own, and values that
 * are substituted. Whatever else stands between braces is refused, so that the chart stays so simple.
 *
 * @throws Error for a template that is not written so, and for a value that is not there.
 */
export function renderTemplate(template: string, values: ChartValues): string {
  const lines: string[] = [];
  /** Of every condition around a line: whether it holds. */
  const open: boolean[] = [];
  for (const line of template.split('\n')) {
    const action = /^\{\{- (if (?<condition>.+)|(?<word>else|end)) \}\}$/.exec(line)?.groups;
    if (action?.condition !== undefined) open.push(holds(action.condition, values));
    else if (action?.word === 'end') closeOne(open);
    else if (action?.word === 'else') open.push(!closeOne(open));
    else if (open.every(Boolean)) lines.push(substituted(line, values));
  }
  if (open.length > 0) throw new Error('a condition has no end');
  return lines.join('\n');
}

/** The paths of values that a template uses: "services.limiter.heapMiB". */
export function valuesUsedBy(template: string): readonly string[] {
  const actions = template.match(/\{\{.*?\}\}/g) ?? [];
  return actions.flatMap((action) => [...action.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = '']) => path));
}

function closeOne(open: boolean[]): boolean {
  const last = open.pop();
  if (last === undefined) throw new Error('an else or end has no condition');
  return last;
}

function holds(condition: string, values: ChartValues): boolean {
  const [, negated] = /^not \((.+)\)$/.exec(condition) ?? [];
  if (negated !== undefined) return !holds(negated, values);
  const [, first, second] = /^and (\S+) \((.+)\)$/.exec(condition) ?? [];
  if (first !== undefined && second !== undefined) return holds(first, values) && holds(second, values);
  const [, path, text] = /^eq (\S+) "(\w+)"$/.exec(condition) ?? [];
  if (path !== undefined) return valueAt(path, values) === text;
  const value = valueAt(condition, values);
  if (typeof value !== 'boolean') throw new Error(`${condition} is no condition`);
  return value;
}

function substituted(line: string, values: ChartValues): string {
  const actions = /\{\{ (.+?) \}\}/g;
  if (/\{\{|\}\}/.test(line.replaceAll(actions, ''))) throw new Error(`${line} is not a line of this chart`);
  return line.replaceAll(actions, (_, expression: string) => valueText(expression, values));
}

function valueText(expression: string, values: ChartValues): string {
  const [, path] = /^toJson (\S+)$/.exec(expression) ?? [];
  if (path !== undefined) return JSON.stringify(valueAt(path, values));
  const [, terms] = /^add((?: (?:\d+|\(int [^\s()]+\)))+)$/.exec(expression) ?? [];
  if (terms !== undefined) {
    const numbers = [...terms.matchAll(/\(int (\S+)\)|(\d+)/g)].map(([, term, digits]) =>
      term === undefined ? Number(digits) : integerAt(term, values),
    );
    return String(numbers.reduce((total, number) => total + number, 0));
  }
  const [, number] = /^int (\S+)$/.exec(expression) ?? [];
  if (number !== undefined) return String(integerAt(number, values));
  const value = valueAt(expression, values);
  if (typeof value !== 'string') throw new Error(`${expression} is no text`);
  return value;
}

function integerAt(path: string, values: ChartValues): number {
  const value = valueAt(path, values);
  if (typeof value !== 'number' || !Number.isInteger(value)) throw new Error(`${path} is no whole number`);
  return value;
}

function valueAt(path: string, values: ChartValues): unknown {
  const [, names = ''] = /^\.Values\.([\w.]+)$/.exec(path) ?? [];
  const value = names
    .split('.')
    .reduce<unknown>((at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined), values);
  if (value === undefined) throw new Error(`${path} is not in the values`);
  return value;
}
