import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { noCreditCause } from './account-error-text.ts';
import { failureRemedy, unreadableListRemedy } from './failure-remedy.ts';

const { UNAUTHORIZED, NETWORK_ERROR, TIMEOUT, OVERLOADED, SERVER_ERROR } = AttemptResult;
const from = (source: string, id = 'p/a') => ({ id, source });
const rejected = { result: UNAUTHORIZED, upstreamStatus: 401 };

describe('the remedy for a rejected key', () => {
  it.each([
    [
      'gateway.yaml',
      /^Replace the key in gateway\.yaml\. .* restart the gateway with the new value\. If the provider accepts the key again, gatewayctl account enable p\/a ends the pause at once\.$/,
    ],
    [
      'OPENAI_API_KEY',
      /^Set OPENAI_API_KEY to a valid key, and restart the gateway\. If the provider accepts the key again, gatewayctl account enable p\/a ends the pause at once\.$/,
    ],
    [
      'ANTHROPIC_API_KEY',
      /^Set ANTHROPIC_API_KEY to a valid key, and restart the gateway\. If the provider accepts the key again, gatewayctl account enable p\/a ends the pause at once\.$/,
    ],
    [
      'database',
      /^Replace the key with gatewayctl account replace-credential p\/a, or in the console\. If the provider accepts the key again, gatewayctl account enable p\/a ends the pause at once\.$/,
    ],
    ['simulator', /^$/],
    [
      '',
      /^Replace the key where the account is defined\. If the provider accepts the key again, gatewayctl account enable p\/a ends the pause at once\.$/,
    ],
  ])('names the place where an account of %s has it', (source, remedy) => {
    expect(failureRemedy(rejected, [from(source)])).toMatch(remedy);
  });

  it('is one for all accounts with the cause', () => {
    expect(failureRemedy(rejected, [from('database'), from('database', 'p/b')])).toContain('<pool/name>');
    expect(failureRemedy(rejected, [from('database'), from('gateway.yaml')])).toBe(
      'Replace their keys where they are defined: database, gateway.yaml. If the provider accepts the key again, gatewayctl account enable <pool/name> ends the pause at once.',
    );
  });
});

describe('the remedy for a failure', () => {
  const remedy = (result: AttemptResult, upstreamStatus = 0) =>
    failureRemedy({ result, upstreamStatus }, [from('database')]);

  it('follows the cause', () => {
    expect([NETWORK_ERROR, TIMEOUT].map((result) => remedy(result))).toEqual([
      'Check base_url in gateway.yaml, and the network to the provider: DNS, proxy, firewall.',
      'Check base_url in gateway.yaml, and the network to the provider: DNS, proxy, firewall.',
    ]);
    expect(remedy(OVERLOADED, 529)).toBe("Check the provider's status page.");
    expect(remedy(SERVER_ERROR, 500)).toBe("Check the provider's status page.");
    expect(remedy(UNAUTHORIZED, 402)).toBe('Check the plan and the credit of the account at the provider.');
  });

  it.each([
    ['401 from the provider', /^Set OPENAI_API_KEY/],
    ['403 from the provider', /^Set OPENAI_API_KEY/],
    ['402 from the provider', /^Check the plan/],
    ['404 from the provider', /^Check base_url/],
    ['429 from the provider', /^$/],
    ['503 from the provider', /status page/],
    ['the account has no usable credential', /^Set OPENAI_API_KEY/],
    ['connection refused by 127.0.0.1:9', /^Check base_url/],
    ['no address for api.example', /^Check base_url/],
  ])('follows the cause of a model list that cannot be read: %s', (cause, text) => {
    expect(unreadableListRemedy(cause, [from('OPENAI_API_KEY')])).toMatch(text);
  });
});

it('the remedy for missing credit is to add some, for its status of a limit too', () => {
  const failure = { result: UNAUTHORIZED, upstreamStatus: 429, cause: noCreditCause };
  expect(failureRemedy(failure, [from('database')])).toBe(
    'Add credit at the provider, or raise the limit there. Then gatewayctl account enable p/a ends the pause at once.',
  );
  expect(failureRemedy(failure, [from('simulator')])).toBe('Add credit at the provider, or raise the limit there.');
});
