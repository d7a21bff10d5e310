/** The names in a provider's error object, as the provider sent them. Never its message. */
export interface ProviderErrorNames {
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  /** The part of the request that the error concerns: "input[0].content[1].image_url". */
  readonly param?: string | undefined;
}

/**
 * The names of a provider's error for operators: "invalid_request_error, code unsupported_value,
 * param temperature". Leaves out anything that is not a short name, because it may repeat content.
 * At most 200 characters; empty: there are none.
 */
export function providerErrorText({ type, code, param }: ProviderErrorNames): string {
  const [shownType, shownCode, path] = [nameIn(type), nameIn(code), pathIn(param)];
  const codeText = shownCode === '' || shownCode === shownType ? '' : `code ${shownCode}`;
  const paramText = path === '' ? '' : `param ${path}`;
  return [shownType, codeText, paramText].filter((part) => part !== '').join(', ');
}

function nameIn(text = ''): string {
  return /^[A-Za-z][\w.:-]{0,59}$/.test(text) ? text : '';
}

/**
 * A path, up to the part of a request whose names clients choose themselves: "tools[0].parameters…"
 */
function pathIn(text = ''): string {
  if (text.length > longestParam || !/^[A-Za-z_]\w*(?:\[\d+\]|\.\w+)*$/.test(text)) return '';
  const names = text.split('.');
  const chosen = names.findIndex((name) => namedByClients.has(name));
  return chosen === -1 || chosen === names.length - 1 ? text : `${names.slice(0, chosen + 1).join('.')}…`;
}

const longestParam = 60;

const namedByClients: ReadonlySet<string> = new Set([
  'metadata',
  'parameters',
  'properties',
  'schema',
  'input_schema',
  'arguments',
  'variables',
  'headers',
]);
