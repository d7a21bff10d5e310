/**
 * The same values, each leaf a placeholder for what Helm puts there: objects that are built from them become the chart's
 * templates. Their types are those of the values, so that one program builds both.
 */
export function placeholdersOf<T extends object>(values: T): T {
  const members = Object.entries(values).map(([name, value]) => [name, placeholderOf(value, `.Values.${name}`)]);
  return Object.fromEntries(members);
}

/** A sum of numbers, which Helm works out when one of them is a placeholder. */
export function sum(...terms: readonly number[]): number {
  if (terms.every((term) => typeof term === 'number')) return terms.reduce((total, term) => total + term, 0);
  const written = terms.map((term) => (typeof term === 'number' ? String(term) : `(int ${pathIn(term)})`));
  return `«add ${written.join(' ')}»` as unknown as number;
}

/** A number as a text, or in one. */
export function digits(value: number): string {
  if (typeof value === 'number') return String(value);
  const expression = expressionIn(value);
  return expression.startsWith('add ') ? `«${expression}»` : `«int ${pathIn(value)}»`;
}

/** A text that others stand around. */
export function inText(value: string): string {
  return value.startsWith('«') ? `«${pathIn(value)}»` : value;
}

/** YAML with placeholders, as a template of Helm. A scalar that is one whole placeholder becomes any kind of value. */
export function toTemplate(yaml: string): string {
  return yaml.replaceAll(/"«(toJson [^«»]+|add [^«»]+)»"/g, '{{ $1 }}').replaceAll(/«([^«»]+)»/g, '{{ $1 }}');
}

export function hasPlaceholder(text: string): boolean {
  return text.includes('«');
}

/** Whatever is a group of settings is gone into; what an operator gives as a whole is one value. */
function placeholderOf(value: unknown, path: string): unknown {
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value) && !isGivenWhole(path);
  if (!isGroup) return `«toJson ${path}»`;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, placeholderOf(member, `${path}.${name}`)]),
  );
}

function isGivenWhole(path: string): boolean {
  return /\.(settings|annotations|volumeClaim)$/.test(path);
}

function pathIn(placeholder: unknown): string {
  return expressionIn(placeholder).replace(/^toJson /, '');
}

function expressionIn(placeholder: unknown): string {
  return String(placeholder).slice(1, -1);
}
