/** True when a model id fits one of the patterns, in which "*" stands for any text. */
export function matchesAnyPattern(model: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesPattern(model, pattern));
}

function matchesPattern(model: string, pattern: string): boolean {
  const [head = '', ...parts] = pattern.split('*');
  const tail = parts.pop();
  if (tail === undefined) return model === pattern;
  if (!model.startsWith(head) || !model.endsWith(tail) || model.length < head.length + tail.length) return false;
  return holdsInOrder(model.slice(head.length, model.length - tail.length), parts);
}

/** No regular expression: a pattern with many stars must not take exponential time. */
function holdsInOrder(text: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}
