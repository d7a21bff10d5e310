/** A whole file that is only there under a condition. */
export function onlyIf(condition: string, text: string): string {
  return `{{- if ${condition} }}\n${text}{{- end }}\n`;
}

/** Two variants of a file as one template: lines that both have stand once, those that differ between conditions. */
export function mergeVariants(condition: string, whenTrue: string, whenFalse: string): string {
  const [left, right] = [whenTrue.split('\n'), whenFalse.split('\n')];
  const lines: string[] = [];
  let [onlyLeft, onlyRight]: [string[], string[]] = [[], []];
  const flush = () => {
    lines.push(...conditional(condition, onlyLeft, onlyRight));
    [onlyLeft, onlyRight] = [[], []];
  };
  for (const { line, side } of aligned(left, right)) {
    if (side === 'left') onlyLeft.push(line);
    else if (side === 'right') onlyRight.push(line);
    else {
      flush();
      lines.push(line);
    }
  }
  flush();
  return lines.join('\n');
}

function conditional(condition: string, left: readonly string[], right: readonly string[]): readonly string[] {
  if (left.length === 0 && right.length === 0) return [];
  if (left.length === 0) return [`{{- if not (${condition}) }}`, ...right, '{{- end }}'];
  const otherwise = right.length === 0 ? [] : ['{{- else }}', ...right];
  return [`{{- if ${condition} }}`, ...left, ...otherwise, '{{- end }}'];
}

interface AlignedLine {
  readonly line: string;
  readonly side: 'left' | 'right' | 'both';
}

/** A longest common subsequence of lines, and between its members what only one side has. */
function aligned(left: readonly string[], right: readonly string[]): readonly AlignedLine[] {
  const common = commonLengths(left, right);
  const lengthAt = (row: number, column: number) => common[row]?.[column] ?? 0;
  const found: AlignedLine[] = [];
  let [row, column] = [0, 0];
  while (row < left.length || column < right.length) {
    const [fromLeft, fromRight] = [left[row], right[column]];
    if (fromLeft !== undefined && fromLeft === fromRight) {
      found.push({ line: fromLeft, side: 'both' });
      row += 1;
      column += 1;
    } else if (
      fromRight === undefined ||
      (fromLeft !== undefined && lengthAt(row + 1, column) >= lengthAt(row, column + 1))
    ) {
      found.push({ line: fromLeft ?? '', side: 'left' });
      row += 1;
    } else {
      found.push({ line: fromRight, side: 'right' });
      column += 1;
    }
  }
  return found;
}

/** How many lines the rests of both sides have in common, from each pair of places on. */
function commonLengths(left: readonly string[], right: readonly string[]): readonly (readonly number[])[] {
  const lengths = Array.from({ length: left.length + 1 }, () => new Array<number>(right.length + 1).fill(0));
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const diagonal = (lengths[row + 1]?.[column + 1] ?? 0) + 1;
      const beside = Math.max(lengths[row + 1]?.[column] ?? 0, lengths[row]?.[column + 1] ?? 0);
      const lengthsOfRow = lengths[row];
      if (lengthsOfRow !== undefined) lengthsOfRow[column] = left[row] === right[column] ? diagonal : beside;
    }
  }
  return lengths;
}
