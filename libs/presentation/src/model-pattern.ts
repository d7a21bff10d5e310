/**
 * Whether a model id matches one of the patterns, in which "*" stands for any text, including none.
 */
export function matchesAnyPattern(model: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesPattern(model, pattern));
}

/**
 * Not a regular expression: with many stars, its time would grow much faster than the length of the
 * id.
 */
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
