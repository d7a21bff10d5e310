import type { RunningServices } from '@gateway/testkit';

export interface Welcome extends Pick<RunningServices, 'baseUrl' | 'adminUrls'> {
  /** Absent on a shared database. */
  readonly token: string | undefined;
  /** Set when no provider account is configured. */
  readonly simulatorUrl: string | undefined;
}

/** What a person sees once the services run: where they are, and a line to paste. */
export function welcomeText({ baseUrl, adminUrls, token, simulatorUrl }: Welcome): string {
  const body = JSON.stringify({
    model: 'gateway/sterk',
    stream: true,
    messages: [{ role: 'user', content: 'Hello there' }],
  });
  const lines = [
    '',
    `  The gateway listens on  ${baseUrl}`,
    ...(simulatorUrl === undefined
      ? []
      : [
          `  Providers               simulated, at ${simulatorUrl}`,
          '                          set OPENAI_API_KEY and/or ANTHROPIC_API_KEY, or GATEWAY_CONFIG, for real ones',
        ]),
    ...(token === undefined ? [] : [`  Token                   ${token}`]),
    '  More tokens             ' +
      `GATEWAY_ADMIN_URL=${adminUrls.identity} npm run gatewayctl -- token create --label my-first`,
    '',
    '  Operators, for each service (/livez /readyz /metrics):',
    ...Object.entries(adminUrls).map(([name, url]) => `    ${name.padEnd(20)}  ${url}`),
    '',
    '  Try it:',
    '',
    `curl -N ${baseUrl}/v1/chat/completions -H 'Authorization: Bearer ${token ?? '<token>'}' -H 'Content-Type: application/json' -d '${body}'`,
    '',
    '',
  ];
  return lines.join('\n');
}
