/** Paragraphs with lines of at most `width` characters. Words are not broken. */
export function wrapText(text: string, width = 120, indent = ''): string {
  const paragraphs = text.trim().split(/\n{2,}/);
  return paragraphs.map((paragraph) => wrapParagraph(paragraph, width, indent)).join('\n\n');
}

function wrapParagraph(paragraph: string, width: number, indent: string): string {
  const lines: string[] = [];
  for (const word of paragraph.split(/\s+/)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines.splice(-1, 1, `${line} ${word}`);
    else lines.push(line === undefined ? word : indent + word);
  }
  return lines.join('\n');
}
