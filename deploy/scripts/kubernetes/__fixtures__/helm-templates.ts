import { callFunction, isTrue, textOf } from './helm-functions.ts';
import { isMap, type Node, parseTemplate, type Template } from './helm-syntax.ts';

/** The data of a template, as Helm names it. */
export type ChartValues = Readonly<Record<string, unknown>>;

/**
 * Renders the templates of a chart as Helm does, in the part of its language that the chart uses. A
 * missing value is an error, where Helm renders nothing.
 *
 * @param files by name. A definition in one file can be included by all.
 * @param used gets the path of every value that is read: "services.limiter.heapMiB".
 * @param others the other files of the chart, which templates read with `.Files.Get`.
 * @returns the rendered text of each file.
 */
export function renderChart(
  files: ReadonlyMap<string, string>,
  values: ChartValues,
  used: Set<string> = new Set(),
  others: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const templates = new Map([...files].map(([name, text]) => [name, parseTemplate(text)]));
  const definitions = new Map([...templates.values()].flatMap(({ definitions: own }) => [...own]));
  const root = { Values: observed(values, '', used), Files: { Get: (name: string) => others.get(name) } };
  return new Map(
    [...templates].map(([name, { body }]) => [name, new Rendering(definitions, root).render(body, root, new Map())]),
  );
}

/** The same values; reading one records its path. */
function observed(value: object, path: string, used: Set<string>): object {
  return new Proxy(value, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol' || Array.isArray(target) || !Object.hasOwn(target, name)) return member;
      const at = path === '' ? name : `${path}.${name}`;
      used.add(at);
      return typeof member === 'object' && member !== null ? observed(member, at, used) : member;
    },
  });
}

type Variables = Map<string, unknown>;

class Rendering {
  readonly #definitions: Template['definitions'];
  readonly #root: unknown;

  constructor(definitions: Template['definitions'], root: unknown) {
    this.#definitions = definitions;
    this.#root = root;
  }

  render(nodes: readonly Node[], dot: unknown, variables: Variables): string {
    return nodes.map((node) => this.#node(node, dot, variables)).join('');
  }

  #node(node: Node, dot: unknown, variables: Variables): string {
    switch (node.kind) {
      case 'text':
        return node.text;
      case 'output':
        return textOf(this.#pipeline(node.pipeline, dot, variables));
      case 'assign':
        variables.set(node.variable, this.#pipeline(node.pipeline, dot, variables));
        return '';
      case 'if': {
        const branch = isTrue(this.#pipeline(node.pipeline, dot, variables)) ? node.body : node.otherwise;
        return this.render(branch, dot, new Map(variables));
      }
      case 'range': {
        const items = this.#pipeline(node.pipeline, dot, variables);
        return entriesOf(items)
          .map(([key, item]) => {
            const inner = new Map(variables);
            const [first, second] = node.variables;
            if (second !== undefined) inner.set(first ?? '', key).set(second, item);
            else if (first !== undefined) inner.set(first, item);
            return this.render(node.body, item, inner);
          })
          .join('');
      }
    }
  }

  /** Each command gets the result of the one before it as its last argument. */
  #pipeline(commands: readonly (readonly Expression[])[], dot: unknown, variables: Variables): unknown {
    let piped: readonly unknown[] = [];
    for (const [head, ...rest] of commands) {
      if (head === undefined) throw new Error('a pipeline has an empty command');
      const args = rest.map((each) => this.#value(each, dot, variables)).concat(piped);
      const called = head.kind === 'function' ? this.#call(head.name, args) : this.#value(head, dot, variables);
      piped = [typeof called === 'function' ? called(...args) : called];
    }
    return piped[0];
  }

  #call(name: string, args: readonly unknown[]): unknown {
    return name === 'include' ? this.#include(args) : callFunction(name, args);
  }

  #include([name, dot]: readonly unknown[]): string {
    const body = this.#definitions.get(String(name));
    if (body === undefined) throw new Error(`${String(name)} is not defined`);
    return this.render(body, dot, new Map());
  }

  #value(expression: Expression, dot: unknown, variables: Variables): unknown {
    switch (expression.kind) {
      case 'literal':
        return expression.value;
      case 'pipeline':
        return this.#pipeline(expression.commands, dot, variables);
      case 'function':
        return this.#pipeline([[expression]], dot, variables);
      case 'path': {
        const { variable, names } = expression;
        const from = variable === undefined ? dot : variable === '$' ? this.#root : variables.get(variable);
        return names.reduce((at, name) => memberOf(at, name), from);
      }
    }
  }
}

type Pipeline = Extract<Node, { readonly kind: 'output' }>['pipeline'];
type Expression = Pipeline[number][number];

function memberOf(value: unknown, name: string): unknown {
  const member: unknown = isMap(value) ? value[name] : undefined;
  if (member === undefined) throw new Error(`there is no ${name}`);
  return member;
}

/** Helm visits maps in the order of their keys. */
function entriesOf(value: unknown): readonly (readonly [unknown, unknown])[] {
  if (Array.isArray(value)) return [...value.entries()];
  if (!isMap(value)) throw new Error('range goes over lists and maps');
  return Object.keys(value)
    .toSorted()
    .map((key) => [key, value[key]]);
}
