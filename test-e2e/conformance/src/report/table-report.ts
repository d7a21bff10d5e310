import { plain } from './plain.ts';
import { exchangeLines, grouped, type Outcome, type Result, type SummaryRow, summaryOf } from './result.ts';

export interface TableOptions {
  /** The width of the terminal; without it lines are not cut. */
  readonly width?: number | undefined;
  readonly color?: (text: string, color: 'green' | 'red' | 'yellow' | 'dim') => string;
}

/**
 * For people: broken rules with their requests and answers, the reasons for skipped checks, and the
 * number of kept rules.
 */
export function tableReport(results: readonly Result[], options: TableOptions = {}): string {
  const table = new Table(options);
  const parts = grouped(results).map((group) => table.group(group));
  return [...parts.filter((part) => part !== ''), table.summary(summaryOf(results))].join('\n');
}

type Broken = Extract<Outcome, { readonly kind: 'broken' }>;

/** An answer may be long; its first lines are enough. */
const mostLinesOfExchange = 40;

class Table {
  readonly #width: number;
  readonly #color: NonNullable<TableOptions['color']>;

  constructor({ width = Number.POSITIVE_INFINITY, color = (text) => text }: TableOptions) {
    this.#width = width;
    this.#color = color;
  }

  /** Empty if all rules are kept. */
  group({ endpoint, level, results }: ReturnType<typeof grouped>[number]): string {
    const broken = results.flatMap(({ check, outcome }) =>
      outcome.kind === 'broken' ? this.#broken(check, outcome) : [],
    );
    const skipped = this.#skipped(results);
    if (broken.length + skipped.length === 0) return '';
    return [`${endpoint}, ${level}`, ...broken, ...skipped, ''].join('\n');
  }

  #broken({ name, rule, source }: Result['check'], { found, exchanges }: Broken): readonly string[] {
    const [last, ...before] = exchanges.toReversed();
    const said = last === undefined ? [] : exchangeLines(last);
    const more = said.length > mostLinesOfExchange ? ['…'] : [];
    return [
      `  ${this.#color('✗', 'red')} ${name}`,
      ...this.#labelled('rule', rule),
      ...this.#labelled('source', source),
      ...this.#labelled('found', found),
      ...(before.length > 0 ? this.#labelled('said', `${before.length} other exchanges before this one`) : []),
      ...[...said.slice(0, mostLinesOfExchange), ...more].map((line) => this.#color(this.#cut(`      ${line}`), 'dim')),
    ];
  }

  #skipped(results: readonly Result[]): readonly string[] {
    const reasons = Map.groupBy(
      results.filter(({ outcome }) => outcome.kind === 'skipped'),
      ({ outcome }) => (outcome.kind === 'skipped' ? outcome.why : ''),
    );
    return [...reasons].flatMap(([why, ofReason]) => {
      const names = ofReason.map(({ check }) => check.name).join(', ');
      const [first = '', ...others] = this.#wrapped(`${ofReason.length} skipped because ${plain(why)}: ${names}`, 4);
      return [`  ${this.#color('–', 'yellow')} ${first}`, ...others.map((line) => `    ${line}`)];
    });
  }

  #labelled(label: string, text: string): readonly string[] {
    const [first = '', ...others] = this.#wrapped(plain(text), 14);
    return [`      ${label.padEnd(8)}${first}`, ...others.map((line) => `${' '.repeat(14)}${line}`)];
  }

  summary(rows: readonly SummaryRow[]): string {
    const totals = { endpoint: 'all', level: '', ...totalsOf(rows) };
    const lines = [...rows, totals].map((row) => {
      const numbers = kinds.map((kind) =>
        this.#color(String(row[kind]).padStart(kind.length), row[kind] === 0 ? 'dim' : colors[kind]),
      );
      return summaryLine(row.endpoint, row.level, numbers);
    });
    return [this.#color(summaryLine('endpoint', 'level', kinds), 'dim'), ...lines, ''].join('\n');
  }

  #wrapped(text: string, indent: number): readonly string[] {
    const room = Math.max(20, this.#width - indent);
    const lines: string[] = [];
    for (const word of text.split(' ')) {
      const line = lines.at(-1);
      if (line !== undefined && line.length + 1 + word.length <= room) lines[lines.length - 1] = `${line} ${word}`;
      else lines.push(word);
    }
    return lines.map((line) => (line.length > room ? `${line.slice(0, room - 1)}…` : line));
  }

  #cut(line: string): string {
    const text = plain(line);
    return text.length > this.#width ? `${text.slice(0, this.#width - 1)}…` : text;
  }
}

const kinds = ['kept', 'broken', 'skipped'] as const;
const colors = { kept: 'green', broken: 'red', skipped: 'yellow' } as const;

function summaryLine(endpoint: string, level: string, counts: readonly string[]): string {
  return `${endpoint.padEnd(13)}${level.padEnd(15)}${counts.join('  ')}`;
}

function totalsOf(rows: readonly SummaryRow[]) {
  const sum = (kind: Outcome['kind']) => rows.reduce((total, row) => total + row[kind], 0);
  return { kept: sum('kept'), broken: sum('broken'), skipped: sum('skipped') };
}
