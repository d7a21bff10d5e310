/** The beginning of every generated page. */
export function pageHead({ order, title, source }: { order: number; title: string; source: string }): string {
  return [`---\norder: ${order}\n---`, `# ${title}`, `<!-- Written by \`npm run generate\` from ${source}. -->`].join(
    '\n\n',
  );
}

/** A table; empty if it would have no rows. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cellOf).join(' | ')} |`).join('\n');
}

/** Paragraphs of a page, without empty ones. */
export function paragraphs(...texts: readonly string[]): string {
  return texts
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join('\n\n');
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** A block of code. */
export function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trim()}\n\`\`\``;
}

function cellOf(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join(' ')
    .replaceAll('|', '\\|');
}
