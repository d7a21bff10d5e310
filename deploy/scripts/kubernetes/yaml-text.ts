import { Document, isPair, isScalar, type Scalar, visit } from 'yaml';

/** The objects as the documents of one file. */
export function yamlOf(objects: readonly object[]): string {
  return objects.map((object) => documentText(object)).join('---\n');
}

/** Puts a description before a file's text. */
export function withHeader(text: string): string {
  return `# Written by \`npm run generate:kubernetes\` from deploy/scripts/kubernetes. Change it there.\n${text}`;
}

/** @param commentOf the comment before a member, by its path of names. */
export function documentText(object: object, commentOf?: (names: readonly string[]) => string | undefined): string {
  // Repeated values are written twice: anchors are harder to read than what they save.
  const document = new Document(object, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      if (mustBeQuoted(node)) node.type = 'QUOTE_DOUBLE';
    },
    Pair(_, { key }, path) {
      const parents = path.filter(isPair).map((pair) => String(pair.key));
      const comment = commentOf?.([...parents, String(key)]);
      if (comment !== undefined && isScalar(key)) key.commentBefore = ` ${comment}`;
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Older YAML readers treat these words as true and false. */
function mustBeQuoted({ value }: Scalar): boolean {
  return typeof value === 'string' && /^(on|off|yes|no|y|n)$/i.test(value);
}
