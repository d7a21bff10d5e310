import { visibleJson } from '@gateway/presentation/visible-text';
import type { Plain } from './plain.ts';

/** How values are written for programs. */
export interface DocumentFormat {
  /** A document of its own. */
  document(value: Plain): string;
  /** An element of a list, which `endOfList` completes. */
  element(value: Plain, index: number): string;
  endOfList(length: number): string;
  /** A value of a stream without an end: a line of JSON, or a document of YAML. */
  streamed(value: Plain): string;
}

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
