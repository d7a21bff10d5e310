import { visibleJson } from '@gateway/presentation/visible-text';
import type { DocumentFormat, Plain } from './plain.ts';

/** YAML is loaded only if it is wanted: a script that reads JSON does not wait for it. */
export async function formatOf(output: 'json' | 'yaml'): Promise<DocumentFormat> {
  return output === 'json' ? json : (await import('./yaml-format.ts')).yaml;
}

const json: DocumentFormat = {
  document: (value) => `${jsonOf(value, 2)}\n`,
  element: (value, index) => `${index === 0 ? '[\n' : ',\n'}${jsonOf(value)}`,
  endOfList: (length) => (length === 0 ? '[]\n' : '\n]\n'),
  streamed: (value) => `${jsonOf(value)}\n`,
};

/**
 * Programs get texts unchanged, with escapes for characters that are invisible or that control a
 * terminal.
 */
function jsonOf(value: Plain, indent?: number): string {
  return visibleJson(JSON.stringify(value, undefined, indent));
}
