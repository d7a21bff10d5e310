/** Fields that do not help a person who watches one process. */
const leftOut: ReadonlySet<string> = new Set(['level', 'time', 'service', 'msg', 'err']);

const words: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

/**
 * Formats a log line for a person at a terminal:
 * `12:30:05 warn  gateway.yaml was not read again  path=gateway.yaml`. Other text stays as it is.
 */
export function readableLine(line: string): string {
  const record = recordIn(line);
  if (record === undefined) return line;
  const { level, time, msg, err } = record;
  const fields = Object.entries(record).filter(([name]) => !leftOut.has(name));
  const details = [...fields, ...(err === undefined ? [] : [['err', messageOf(err)] as const])]
    .map(
      ([name, value]) => `${name}=${typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value)}`,
    )
    .join(' ');
  const clock = new Date(String(time)).toLocaleTimeString('en-GB');
  const text = `${clock} ${(words[Number(level)] ?? 'info').padEnd(5)} ${msg ?? ''}${details && `  ${details}`}`;
  const stack = Number(level) >= 50 && isObject(err) && typeof err.stack === 'string' ? `\n${err.stack}` : '';
  return stripControls(`${text}${stack}`);
}

function recordIn(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const record: unknown = JSON.parse(line);
    return isObject(record) && 'level' in record && 'time' in record ? record : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(err: unknown): unknown {
  return isObject(err) && 'message' in err ? err.message : err;
}

/** External input may contain terminal control sequences. */
function stripControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (character === '\n' ? character : ' '));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
