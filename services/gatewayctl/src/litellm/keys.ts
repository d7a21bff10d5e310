import type { InputValue } from './input-value.ts';

/** What an account authenticates with: a reference to a variable, or nothing that is secret. */
export interface AccountKey {
  /** The text for gateway.yaml. */
  readonly written: string;
  /** The name of an account with it. */
  readonly accountName: string;
}

/** A variable that has to be set for the new file. */
export interface NeededVariable {
  readonly name: string;
  /** The place in the input that has the value. Undefined: the input names the variable itself. */
  readonly valueAt: string | undefined;
}

/** The names for keys of accounts. A key in the input never reaches the output: it gets a name. */
export class Keys {
  readonly #taken: ReadonlySet<string>;
  readonly #needed = new Map<string, NeededVariable>();
  readonly #nameOfSecret = new Map<string, string>();

  /** @param taken names of variables that the input uses. */
  constructor(taken: ReadonlySet<string>) {
    this.#taken = taken;
  }

  get needed(): readonly NeededVariable[] {
    return [...this.#needed.values()];
  }

  /**
   * The key of a deployment. A text is the reason why it can't be taken.
   * @param fallback the variable that LiteLLM reads if the file has no key.
   */
  keyOf(input: InputValue, provider: string, fallback: string | undefined): AccountKey | string {
    const { text } = input;
    if (!input.isGiven) return fallback === undefined ? noKey : this.variable(fallback);
    if (text === undefined) return 'The key is not a text.';
    const name = variableIn(text);
    if (name !== undefined) {
      if (!isVariableName(name)) return 'The key names no environment variable.';
      return this.variable(name);
    }
    if (standsForNone.test(text)) return noKey;
    return this.#secret(text, input, provider);
  }

  variable(name: string): AccountKey {
    if (!this.#needed.has(name)) this.#needed.set(name, { name, valueAt: undefined });
    return { written: `\${${name}}`, accountName: name.toLowerCase().replaceAll('_', '-') };
  }

  #secret(secret: string, input: InputValue, provider: string): AccountKey {
    const known = this.#nameOfSecret.get(secret);
    const name = known ?? this.#freeName(`${provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_KEY`);
    if (known === undefined) {
      this.#nameOfSecret.set(secret, name);
      this.#needed.set(name, { name, valueAt: input.place });
      input.note(`The key is a secret in the file. Set ${name} to it, or ${name}_FILE to a file that has it.`);
    }
    return this.variable(name);
  }

  #freeName(base: string): string {
    for (let number = 1; ; number += 1) {
      const name = `${base}_${number}`;
      if (!this.#taken.has(name) && !this.#needed.has(name)) return name;
    }
  }
}

/** The name in `os.environ/NAME`. */
export function variableIn(text: string): string | undefined {
  return /^os\.environ\/(.*)$/s.exec(text)?.[1];
}

export function isVariableName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

/** Servers without authentication get a key that says so. */
const noKey: AccountKey = { written: 'none', accountName: 'no-key' };

const standsForNone = /^(none|null|empty|dummy|no-key|not-needed|not-required|unused|n\/a|na|anything)$/i;
