import { formatCountOf } from './numbers.ts';

/**
 * A one-line command for any shell that streams an answer. @param model a class or a model id;
 * undefined if the gateway knows none yet
 */
export function firstCurl(baseUrl: string, tokenText = '<token>', model = '<model>'): string {
  const messages = [{ role: 'user', content: 'Hello there' }];
  const body = JSON.stringify({ model, stream: true, messages });
  const headers = `-H 'Authorization: Bearer ${tokenText}' -H 'Content-Type: application/json'`;
  return `curl -N ${baseUrl}/v1/chat/completions ${headers} -d '${body}'`;
}

/**
 * The next steps after the first answer. @param settings that gatewayctl needs to find the gateway;
 * empty if it needs none.
 */
export function nextStepLines(settings: Readonly<Record<string, string>>): readonly string[] {
  const exported = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return [
    ...(exported.length === 0 ? [] : [`  In another terminal     export ${exported.join(' ')}`]),
    '  Set up a client         npx gatewayctl snippet claude-code   (or codex, openai-python; no name lists all)',
    '  See what happened       npx gatewayctl request list          (or in the console)',
    '  Is something wrong?     npx gatewayctl doctor',
    '  Stop                    Ctrl-C',
  ];
}

/** A pool with accounts. */
export interface WelcomePool {
  readonly name: string;
  readonly baseUrl: string;
  readonly accounts: number;
  /** What is known of its models: "42 models". */
  readonly models: string;
}

/**
 * Names the providers, or says that they are simulated, and how to set up real ones.
 *
 * @param notes what does not work with these pools
 */
export function providerLines(
  simulatorUrl: string | undefined,
  pools: readonly WelcomePool[] = [],
  notes: readonly string[] = [],
): readonly string[] {
  if (simulatorUrl !== undefined) {
    return [
      `  Providers               simulated, at ${simulatorUrl}`,
      `${margin}for real ones, set the gateway's own keys (OPENAI_API_KEY, ANTHROPIC_API_KEY) or GATEWAY_CONFIG`,
    ];
  }
  const lines = pools.map(({ name, baseUrl, accounts, models }) => {
    const counted = formatCountOf(accounts, 'account');
    return `${name}: ${baseUrl}, ${counted}, ${models}`;
  });
  return [...lines, ...notes].map((line, index) => `${index === 0 ? '  Providers               ' : margin}${line}`);
}

const margin = ' '.repeat(26);
