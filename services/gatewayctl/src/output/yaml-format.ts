import { hasUnseen, visibleYaml } from '@gateway/presentation/visible-text';
import { Document, visit } from 'yaml';
import type { DocumentFormat, Plain } from './plain.ts';

export const yaml: DocumentFormat = {
  document: yamlOf,
  element: (value) => yamlOf([value]),
  endOfList: (length) => (length === 0 ? '[]\n' : ''),
  streamed: (value) => `---\n${yamlOf(value)}`,
};

/** Invisible characters are escaped, which only texts in double quotes allow. */
function yamlOf(value: Plain): string {
  const document = new Document(value);
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && hasUnseen(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return visibleYaml(document.toString());
}
