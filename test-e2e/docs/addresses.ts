import type { CodeBlock } from '@gateway/testkit/pages';

/** Where what the pages speak of runs in the tests. */
export interface Addresses {
  /** `http://127.0.0.1:<port>` of the public API. */
  readonly gateway: string;
  readonly admin: string;
  readonly simulator: string;
}

/** What pages write for them: the ports that each has unless it is set otherwise. */
const documented: Readonly<Record<keyof Addresses, string>> = {
  gateway: '127.0.0.1:8080',
  admin: '127.0.0.1:9090',
  simulator: '127.0.0.1:8090',
};

/** The text of a block with this machine's addresses and token in place of the documented ones. This is the only change that is made. */
export function textWith({ text }: CodeBlock, addresses: Addresses, token: string): string {
  const names = Object.keys(documented) as readonly (keyof Addresses)[];
  return names
    .reduce((changed, name) => changed.replaceAll(documented[name], new URL(addresses[name]).host), text)
    .replaceAll('<the printed token>', token);
}
