/** A word of a POSIX shell with exactly this text. */
export function quoted(text: string): string {
  return /^[A-Za-z0-9_./:@%+,-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A flag with its value. A value may begin with `-`. */
export function optionText(flag: string, value: string): string {
  return value.startsWith('-') ? quoted(`${flag}=${value}`) : `${flag} ${quoted(value)}`;
}
