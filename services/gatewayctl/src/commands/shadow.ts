import { type Environment, readSettings } from '@gateway/config/env-reader';
import { Command, InvalidArgumentError } from 'commander';
import { safeAddress } from '../connection/safe-address.ts';
import { NotAsItShouldBe, UsageError } from '../failures.ts';
import { formatOf } from '../output/document-format.ts';
import { note, type OutputFlags, print, withOutput } from '../output/print.ts';
import type { ShadowRequest } from '../shadow/requests.ts';
import type { Side } from '../shadow/send.ts';
import { commaList } from './comma-list.ts';
import type { CommandContext } from './context.ts';
import { durationMs, readNamedFile, wholeNumber } from './flags.ts';

interface ShadowFlags extends OutputFlags {
  readonly from?: string;
  readonly to?: string;
  readonly requests?: string;
  readonly models?: readonly string[];
  readonly ignore?: readonly string[];
  readonly concurrency: number;
  readonly timeout: number;
  readonly printRequests?: true;
}

/** `gatewayctl shadow` */
export function shadowCommand({ env }: CommandContext): Command {
  return withOutput(new Command('shadow'))
    .description(
      'Sends recorded requests to another gateway and to this one, and prints what differs: status, shape, events, usage and latency. Texts of models and times may differ. The requests are real: providers charge for them. Keys come from SHADOW_FROM_KEY and GATEWAY_TOKEN, or from the files that SHADOW_FROM_KEY_FILE and GATEWAY_TOKEN_FILE name. Exits with status 1 if something differs.',
    )
    .option('--from <url>', 'address of the other gateway, without /v1', baseUrl)
    .option('--to <url>', 'address of this gateway (default: GATEWAY_URL, or PORT on this machine)', baseUrl)
    .option('--requests <file>', 'recording: a line of JSON for each request (default: ten requests of all kinds)')
    .option('--models <names>', 'other names of models here, separated by commas: strong=gateway/strong', commaList)
    .option('--ignore <what>', 'differences to accept, separated by commas: paths, or kinds such as usage', commaList)
    .option('--concurrency <number>', 'requests at the same time', wholeNumber(1, 64), 2)
    .option('--timeout <duration>', 'how long a whole answer may take', durationMs, 300_000)
    .option('--print-requests', 'print the recording, and send nothing')
    .action(async (flags: ShadowFlags) => {
      const requests = await requestsOf(flags);
      if (flags.printRequests) return print((await import('../shadow/requests.ts')).requestLines(requests));
      const { runShadow, differs } = await import('../shadow/run-shadow.ts');
      const sides = await sidesOf(flags, env);
      using stop = stopOnSignal();
      const results = await runShadow(requests, {
        ...sides,
        models: namesOf(flags.models ?? []),
        ignored: new Set(flags.ignore),
        concurrency: flags.concurrency,
        timeoutMs: flags.timeout,
        signal: stop.signal,
      });
      const { shadowText, shadowDocument } = await import('../shadow/shadow-report.ts');
      if (flags.output === 'table') print(shadowText(results, requests.length));
      else print((await formatOf(flags.output)).document(shadowDocument(results, requests.length)));
      if (stop.signal.aborted) throw new NotAsItShouldBe('stopped before all requests were compared.');
      const differing = results.filter(differs).length;
      if (differing > 0) throw new NotAsItShouldBe(`${differing} of ${results.length} answers differ.`);
    });
}

async function requestsOf({ requests: file }: ShadowFlags): Promise<readonly ShadowRequest[]> {
  if (file === undefined) return (await import('../shadow/sample-requests.ts')).sampleRequests;
  const { readRequests } = await import('../shadow/requests.ts');
  return readRequests(await readNamedFile(file, file === '-' ? '/dev/stdin' : file), file);
}

async function sidesOf(flags: ShadowFlags, env: Environment): Promise<{ readonly from: Side; readonly to: Side }> {
  if (flags.from === undefined) throw new UsageError('name the other gateway with --from.');
  const { personToken, readGatewayUrl } = await import('../connection/person-session.ts');
  const { fromKey, ownToken } = readSettings(env, (reader) => {
    const keys = {
      fromKey: reader.required('SHADOW_FROM_KEY', 'It is a key of the other gateway.', 'sk-…'),
      ownToken: reader.optional('GATEWAY_TOKEN'),
    };
    // The error of a header that can't be sent would repeat the key.
    if (!isKey(keys.fromKey)) reader.problem('SHADOW_FROM_KEY has spaces or other characters that no key has.');
    if (!isKey(keys.ownToken)) reader.problem('GATEWAY_TOKEN has spaces or other characters that no token has.');
    return keys;
  });
  const url = flags.to === undefined ? readGatewayUrl(env) : safeAddress('--to', flags.to, env);
  return {
    from: { url: safeAddress('--from', flags.from, env), key: fromKey },
    to: { url, key: ownToken ?? (await personToken(env, url).catch(() => Promise.reject(noToken))) },
  };
}

function isKey(text = ''): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

const noToken = new UsageError('set GATEWAY_TOKEN to a token of this gateway, or sign in: gatewayctl login --person.');

function baseUrl(text: string): string {
  const url = URL.parse(text);
  const isBare = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isBare && /^https?:$/.test(url.protocol)) return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`;
  throw new InvalidArgumentError('It must be an address such as https://litellm.example, without user and password.');
}

/** `strong=gateway/strong`. A name may contain `=` after the first one. */
function namesOf(pairs: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1 || at === pair.length - 1) throw new UsageError(`--models: ${pair} is not of the form old=new.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** The first Ctrl-C ends the requests, and the report follows. The second ends the process. */
function stopOnSignal(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const stop = () => {
    note('stopping');
    controller.abort();
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const name of signals) process.once(name, stop);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const name of signals) process.off(name, stop);
    },
  };
}
