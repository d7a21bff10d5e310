/** True when a model id matches one of the patterns, in which "*" stands for any text, none included. */
export function matchesAnyPattern(model: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesPattern(model, pattern));
}

/** No regular expression: one of many stars would take a time that grows much faster than the id. */
export function matchesPattern(model: string, pattern: string): boolean {
  const [head = '', ...parts] = pattern.split('*');
  const tail = parts.pop();
  if (tail === undefined) return model === pattern;
  let from = head.length;
  for (const part of parts) {
    const at = model.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return model.startsWith(head) && model.endsWith(tail) && from + tail.length <= model.length;
}
