/** A node of a Helm template. */
export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly pipeline: Pipeline }
  | { readonly kind: 'assign'; readonly variable: string; readonly pipeline: Pipeline }
  | {
      readonly kind: 'if';
      readonly pipeline: Pipeline;
      readonly body: readonly Node[];
      readonly otherwise: readonly Node[];
    }
  | {
      readonly kind: 'range';
      readonly variables: readonly string[];
      readonly pipeline: Pipeline;
      readonly body: readonly Node[];
    };

type Pipeline = readonly Command[];
type Command = readonly Expression[];

type Expression =
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | { readonly kind: 'function'; readonly name: string }
  /** `.Values.image.tag`, `$service.replicas`; without a variable it starts at the dot. */
  | { readonly kind: 'path'; readonly variable: string | undefined; readonly names: readonly string[] }
  | { readonly kind: 'pipeline'; readonly commands: Pipeline };

export interface Template {
  readonly body: readonly Node[];
  /** The content between `define` and its `end`, by name. */
  readonly definitions: ReadonlyMap<string, readonly Node[]>;
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws Error for syntax outside this part of the language. */
export function parseTemplate(text: string): Template {
  const parser = new Parser(piecesOf(text));
  const body = parser.block([]).nodes;
  return { body, definitions: parser.definitions };
}

interface Piece {
  readonly isAction: boolean;
  readonly text: string;
}

/** Alternating texts and actions. A dash at a brace removes the space beside it. */
function piecesOf(text: string): Piece[] {
  const parts = text.split(/(\{\{-?(?:\s*\/\*[\s\S]*?\*\/\s*|[^{}]*?)-?\}\})/);
  return parts.map((part, index) => {
    if (index % 2 === 1) return { isAction: true, text: part.replaceAll(/^\{\{-?\s*|\s*-?\}\}$/g, '') };
    const [before = '', after = ''] = [parts[index - 1], parts[index + 1]];
    const atStart = before.endsWith('-}}') ? part.trimStart() : part;
    const cut = after.startsWith('{{-') ? atStart.trimEnd() : atStart;
    if (/\{\{|\}\}/.test(cut)) throw new Error(`an action is not closed: ${cut.slice(0, 80)}`);
    return { isAction: false, text: cut };
  });
}

class Parser {
  readonly definitions = new Map<string, readonly Node[]>();
  readonly #pieces: Piece[];

  constructor(pieces: Piece[]) {
    this.#pieces = pieces;
  }

  /** The nodes before one of these words, or before the end of the file. */
  block(ends: readonly string[]): { readonly nodes: readonly Node[]; readonly end: string } {
    const nodes: Node[] = [];
    for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) {
      const { isAction, text } = piece;
      if (!isAction) nodes.push({ kind: 'text', text });
      else if (ends.includes(text)) return { nodes, end: text };
      else if (!text.startsWith('/*')) nodes.push(...this.#action(text));
    }
    if (ends.length > 0) throw new Error('a block has no end');
    return { nodes, end: '' };
  }

  #action(text: string): readonly Node[] {
    const [, word = '', rest = ''] = /^(if|range|define|else|end|with|template|block)\b\s*([\s\S]*)$/.exec(text) ?? [];
    if (word === '') return [assignmentIn(text) ?? { kind: 'output', pipeline: pipelineIn(text) }];
    if (word === 'if') {
      const { nodes: body, end } = this.block(['else', 'end']);
      const otherwise = end === 'else' ? this.block(['end']).nodes : [];
      return [{ kind: 'if', pipeline: pipelineIn(rest), body, otherwise }];
    }
    const { nodes: body } = this.block(['end']);
    if (word === 'define') {
      this.definitions.set(rest.replaceAll('"', ''), body);
      return [];
    }
    if (word !== 'range') throw new Error(`${word} is not known here`);
    const [, names, over = rest] = /^(\$[\w, $]*?)\s*:=\s*(.+)$/s.exec(rest) ?? [];
    const variables = names?.split(',').map((name) => name.trim()) ?? [];
    return [{ kind: 'range', variables, pipeline: pipelineIn(over), body }];
  }
}

function assignmentIn(text: string): Node | undefined {
  const [, variable, written] = /^(\$\w+)\s*:=\s*(.+)$/s.exec(text) ?? [];
  return variable === undefined ? undefined : { kind: 'assign', variable, pipeline: pipelineIn(written ?? '') };
}

function pipelineIn(text: string): Pipeline {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|"]+/g) ?? [];
  const commands = commandsIn(tokens);
  if (tokens.length > 0) throw new Error(`a parenthesis is missing: ${text}`);
  return commands;
}

/** @param tokens consumed tokens are removed. */
function commandsIn(tokens: string[]): Pipeline {
  const commands: Expression[][] = [[]];
  for (let token = tokens.shift(); token !== undefined && token !== ')'; token = tokens.shift()) {
    if (token === '|') commands.push([]);
    else
      commands.at(-1)?.push(token === '(' ? { kind: 'pipeline', commands: commandsIn(tokens) } : expressionOf(token));
  }
  return commands;
}

function expressionOf(token: string): Expression {
  if (token.startsWith('"')) return { kind: 'literal', value: String(JSON.parse(token)) };
  if (/^\d+$/.test(token)) return { kind: 'literal', value: Number(token) };
  if (token === 'true' || token === 'false') return { kind: 'literal', value: token === 'true' };
  const [, variable, path = ''] = /^(\$\w*)?((?:\.\w*)*)$/.exec(token) ?? [];
  if (variable !== undefined || path !== '')
    return { kind: 'path', variable, names: path.split('.').filter((name) => name !== '') };
  if (/^[a-zA-Z]+$/.test(token)) return { kind: 'function', name: token };
  throw new Error(`${token} is not known here`);
}
