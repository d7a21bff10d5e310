import type { SseEvent } from './sse-event.ts';

/** The event in a block of lines that end in LF. Undefined when no line holds data: such a block is no event. */
export function readEvent(block: string): SseEvent | undefined {
  let event = '';
  let data: string | undefined;
  for (let start = 0; start < block.length; ) {
    const newline = block.indexOf('\n', start);
    const end = newline < 0 ? block.length : newline;
    if (isField(block, 'data', start, end)) {
      const value = fieldValue(block, start + 4, end);
      data = data === undefined ? value : `${data}\n${value}`;
    } else if (isField(block, 'event', start, end)) {
      event = fieldValue(block, start + 5, end);
    }
    start = end + 1;
  }
  return data === undefined ? undefined : { event: event === '' ? 'message' : event, data };
}

function isField(block: string, name: string, start: number, end: number): boolean {
  const nameEnd = start + name.length;
  return block.startsWith(name, start) && (nameEnd === end || (nameEnd < end && block.charCodeAt(nameEnd) === colon));
}

/** What stands after the colon and one space. A field without a colon has an empty value. */
function fieldValue(block: string, nameEnd: number, end: number): string {
  if (nameEnd >= end) return '';
  const start = block.charCodeAt(nameEnd + 1) === space ? nameEnd + 2 : nameEnd + 1;
  return block.slice(Math.min(start, end), end);
}

const colon = 0x3a;
const space = 0x20;
