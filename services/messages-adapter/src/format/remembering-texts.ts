/**
 * The same as `read`, which depends on nothing but its text: what short texts say is remembered. All events of a stream
 * but its deltas and its usage are written the same in every answer, and parsing them costs more than all deltas of a
 * short one; requests name the same few models.
 */
export function rememberingTexts<T extends object>(read: (text: string) => T): (text: string) => T {
  const remembered = new Map<string, T>();
  return (text) => {
    if (text.length > maxLength) return read(text);
    const known = remembered.get(text);
    if (known !== undefined) return known;
    const value = read(text);
    // Whatever else is short comes once, and is not kept for long.
    if (remembered.size === maxTexts) remembered.clear();
    remembered.set(text, value);
    return value;
  };
}

const maxLength = 160;
const maxTexts = 64;
