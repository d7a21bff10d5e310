import type { CodeBlock } from '@gateway/testkit/pages';

/** The tests' addresses for those of the pages. */
export interface Addresses {
  /** `http://127.0.0.1:<port>` of the public API. */
  readonly gateway: string;
  readonly admin: string;
  readonly simulator: string;
}

/** The default ports, which pages name. */
const documented: Readonly<Record<keyof Addresses, string>> = {
  gateway: '127.0.0.1:8080',
  admin: '127.0.0.1:9090',
  simulator: '127.0.0.1:8090',
};

/**
 * The text of a block with this machine's addresses and token instead of the documented ones. This
 * is the only change.
 */
export function textWith({ text }: CodeBlock, addresses: Addresses, token: string): string {
  const names = Object.keys(documented) as readonly (keyof Addresses)[];
  return names
    .reduce((changed, name) => changed.replaceAll(documented[name], new URL(addresses[name]).host), text)
    .replaceAll('<the printed token>', token);
}
