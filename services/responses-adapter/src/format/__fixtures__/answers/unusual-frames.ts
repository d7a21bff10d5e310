/** An event of any shape, framed as providers do. */
export function frame(event: Readonly<Record<string, unknown>>): string {
  return `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** An event of the provider from which a backend leaves members out. */
export function without(event: object, ...members: readonly string[]): string {
  return frame(Object.fromEntries(Object.entries(event).filter(([member]) => !members.includes(member))));
}

/** An event of the provider in which a backend sets members as no SDK knows them. */
export function altered(event: object, members: Readonly<Record<string, unknown>>): string {
  return frame({ ...event, ...members });
}

/** One event, written line by line. */
export function lines(...written: readonly string[]): string {
  return `${written.join('\n')}\n\n`;
}

/** An event without its name and of exactly this JSON. */
export function json(text: string): string {
  return lines(`data: ${text}`);
}
