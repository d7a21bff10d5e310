/** What stands behind a block's language, and says how tests treat the block. */
export interface Attributes {
  /** Why the block can't be run. */
  readonly noRun?: string;
  /** Runs only where packages may be downloaded: `npm run docs:clients`. */
  readonly clients?: true;
  /** The block is a file of this name in the page's folder; `~` is that folder too. */
  readonly file?: string;
  /** The block must end with an error. */
  readonly fails?: true;
  /** The block is what the one before it prints. */
  readonly output?: true;
}

export interface InfoString {
  readonly attributes: Attributes;
  readonly problems: readonly string[];
}

/** Reads `no-run="needs a cluster"`, `file="hello.ts"` and single words such as `output`. */
export function readInfoString(text: string): InfoString {
  const problems: string[] = [];
  let attributes: Attributes = {};
  for (const [whole, name = '', value] of text.matchAll(/([^\s="]+)(?:="([^"]*)")?|\S/g)) {
    if (name === 'no-run' && value !== undefined) {
      if (value.trim().split(/\s+/).length < 2) problems.push('no-run says in some words why the block can not be run');
      attributes = { ...attributes, noRun: value };
    } else if (name === 'file' && value) attributes = { ...attributes, file: value };
    else if (isFlag(name) && value === undefined) attributes = { ...attributes, [name]: true };
    else problems.push(`${whole} is not known behind a language`);
  }
  return { attributes, problems };
}

function isFlag(name: string): name is 'clients' | 'fails' | 'output' {
  return name === 'clients' || name === 'fails' || name === 'output';
}
