import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type CodeBlock, type Page, placeOf } from '@gateway/testkit/pages';
import { issueToken } from '../client/tokens.ts';
import { textWith } from './addresses.ts';
import type { DocumentedGateway } from './documented-gateway.ts';
import { languageOf } from './languages.ts';
import { makePageFolder, type PageFolder, repositoryRoot } from './page-folder.ts';
import { missingIn } from './printed.ts';
import { type Finished, runShell } from './run-shell.ts';

export interface RunOptions {
  /** Also runs the blocks that download clients, in an empty folder. */
  readonly withClients: boolean;
  /** Called before each block that runs. */
  readonly onBlock?: (block: CodeBlock) => void;
  readonly onPrinted?: (text: string) => void;
}

/**
 * Follows a page from top to bottom, as a reader would in one terminal. @throws Error that names
 * the block which does not do what the page says.
 */
export async function runPage({ blocks }: Page, gateway: DocumentedGateway, options: RunOptions): Promise<void> {
  await using folder = await makePageFolder(options.withClients ? 'empty' : 'clone');
  const scene: Scene = { folder, gateway, options, token: (await issueToken(gateway, limits)).text };
  let last: { readonly block: CodeBlock; readonly finished: Finished } | undefined;
  for (const [index, block] of blocks.entries()) {
    if (block.attributes.output === true) {
      if (last !== undefined) checkPrinted(last.finished, block);
      continue;
    }
    last = undefined;
    const command = await commandOf(block, blocks.slice(index + 1), scene);
    if (command === undefined) continue;
    options.onBlock?.(block);
    const finished = await runShell(command, folder.path, environmentOf(scene), options.withClients ? 600 : 60);
    options.onPrinted?.(finished.printed);
    if ((finished.exitCode === 0) === (block.attributes.fails === true)) throw new Error(failureText(block, finished));
    last = { block, finished };
  }
}

/** The limits of a first token: enough for a page, and every answer has the headers of limits. */
const limits = { requestsPerMinute: 60, tokensPerDay: 1_000_000 };

interface Scene {
  readonly folder: PageFolder;
  readonly gateway: DocumentedGateway;
  readonly options: RunOptions;
  readonly token: string;
}

/**
 * The program that runs a block. Undefined if it is a file for later blocks, or is not run here.
 */
async function commandOf(block: CodeBlock, later: readonly CodeBlock[], scene: Scene): Promise<string | undefined> {
  const { file } = block.attributes;
  const text = textWith(block, scene.gateway.addresses, scene.token);
  const name = file ?? `block-${block.line}.mts`;
  const { runBy } = languageOf(block);
  if (file !== undefined || runBy === 'node') await scene.folder.write(name, text);
  if (!isRun(block, scene.options)) return undefined;
  if (runBy === 'shell') return text;
  if (runBy !== 'node') return undefined;
  const startedLater = later.some((each) => isRun(each, scene.options) && each.text.includes(name));
  return startedLater ? undefined : `node ${name}`;
}

function isRun({ attributes }: CodeBlock, { withClients }: RunOptions): boolean {
  return attributes.noRun === undefined && (withClients || attributes.clients !== true);
}

/** The environment of a reader's terminal with the token, without the machine's own settings. */
function environmentOf({ folder, gateway, options, token }: Scene): Readonly<Record<string, string>> {
  const programs = options.withClients ? dirname(process.execPath) : join(repositoryRoot, 'node_modules/.bin');
  return {
    PATH: `${join(folder.path, '.local/bin')}:${programs}:${process.env.PATH}`,
    HOME: folder.path,
    ...(options.withClients ? downloadSettings(folder) : compiled()),
    CURL_HOME: folder.path,
    GATEWAY_TOKEN: token,
    GATEWAY_ADMIN_URL: gateway.addresses.admin,
    GATEWAY_ADMIN_TOKEN: gateway.adminToken,
  };
}

/** Node's compile cache of the gateway's programs is shared. */
function compiled(): Readonly<Record<string, string>> {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
}

/**
 * Packages come from this machine's registry. Global installations are in the folder, and are
 * removed with it.
 */
function downloadSettings(folder: PageFolder): Readonly<Record<string, string>> {
  const { npm_config_userconfig, NODE_EXTRA_CA_CERTS, HTTPS_PROXY, NO_PROXY } = process.env;
  const settings = {
    npm_config_userconfig: npm_config_userconfig ?? join(homedir(), '.npmrc'),
    npm_config_prefix: join(folder.path, '.local'),
    ...{ NODE_EXTRA_CA_CERTS, HTTPS_PROXY, NO_PROXY },
  };
  return Object.fromEntries(Object.entries(settings).flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

function checkPrinted({ printed }: Finished, expected: CodeBlock): void {
  const missing = missingIn(printed, expected.text);
  if (missing === undefined) return;
  throw new Error(`${placeOf(expected)}: no line is\n${missing}\nin what was printed:\n${printed}`);
}

function failureText(block: CodeBlock, { exitCode, printed }: Finished): string {
  const expected = block.attributes.fails === true ? 'it did not fail' : `it ended with ${exitCode}`;
  return `${placeOf(block)}: ${expected}\n${block.text}\n---\n${printed}`;
}
