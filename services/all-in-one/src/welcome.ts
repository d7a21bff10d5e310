export interface Welcome {
  readonly baseUrl: string;
  readonly adminUrl: string;
  /** Absent when it was shown before, or when the gateway works on a shared database. */
  readonly token: string | undefined;
  /** Set when no provider account is configured. */
  readonly simulatorUrl: string | undefined;
  readonly model: string;
}

/** What a person sees once the gateway runs: where it is, and a line to paste. */
export function welcomeText({ baseUrl, adminUrl, token, simulatorUrl, model }: Welcome): string {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello there' }] });
  const lines = [
    '',
    `  The gateway listens on  ${baseUrl}`,
    `  Operators               ${adminUrl}   (/livez /readyz /metrics, gatewayctl)`,
    ...(simulatorUrl === undefined
      ? []
      : [
          `  Providers               simulated, at ${simulatorUrl}`,
          '                          set OPENAI_API_KEY and/or ANTHROPIC_API_KEY, or GATEWAY_CONFIG, for real ones',
        ]),
    ...(token === undefined
      ? ['', '  Make a token with       npm run gatewayctl -- token create --label my-first']
      : [`  Token                   ${token}${simulatorUrl === undefined ? '   (shown only now)' : ''}`]),
    '',
    '  Try it:',
    '',
    `curl -N ${baseUrl}/v1/chat/completions -H 'Authorization: Bearer ${token ?? '<token>'}' -H 'Content-Type: application/json' -d '${body}'`,
    '',
    '',
  ];
  return lines.join('\n');
}
