import { Code, ConnectError } from '@connectrpc/connect';
import { invalidFields } from '@gateway/admin/rpc/problems';
import { ConfigError } from '@gateway/config';
import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { exitCodeOf, failureText } from './failure-text.ts';
import { UsageError } from './failures.ts';

const url = 'http://gateway.test';

describe('the error message of a failed command', () => {
  it.each([
    [Code.Unauthenticated, /Run gatewayctl login, or set GATEWAY_ADMIN_TOKEN/],
    [Code.PermissionDenied, /gatewayctl whoami shows your identity at http:\/\/gateway\.test/],
    [Code.Unimplemented, /not the gateway's admin service\. Set GATEWAY_ADMIN_URL/],
    [Code.Unavailable, /^gatewayctl: what was said Run gatewayctl doctor to see what is unreachable/],
    [Code.DeadlineExceeded, /timed out/],
    [Code.NotFound, /^gatewayctl: what was said$/],
  ])('has the remedy for the code %s', (code, says) => {
    expect(failureText(new ConnectError('what was said', code), url)).toMatch(says);
  });

  it('says that nothing answers at the address', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const unreachable = new ConnectError(refused.message, Code.Unavailable, undefined, undefined, refused);
    expect(failureText(unreachable, url)).toMatch(/nothing answers at http:\/\/gateway\.test .*Is the gateway running/);
  });

  it.each(['EPIPE', 'ECONNRESET'])('says for %s that the connection broke, and what to check', (code) => {
    const thrown = ConnectError.from(Object.assign(new Error(`write ${code}`), { code }));
    expect(failureText(thrown, url)).toMatch(
      /^gatewayctl: the connection to http:\/\/gateway\.test broke .* check first/,
    );
  });

  it('names fields by their flags, and has a line for each problem', () => {
    const refused = invalidFields({ 'limits.tokensPerDay': 'Too many.', 'account.maxConcurrency': 'Too few.' });
    expect(failureText(refused, url)).toBe('gatewayctl: --tpd: Too many.\ngatewayctl: --max-concurrency: Too few.');
    expect(failureText(new ConfigError(['one', 'two']), url)).toBe('gatewayctl: one\ngatewayctl: two');
  });

  it('comes with exit code 2 for a usage error, and 1 for a failure', () => {
    expect(exitCodeOf(new UsageError('x'))).toBe(2);
    expect(exitCodeOf(new CommanderError(1, 'commander.unknownOption', 'x'))).toBe(2);
    expect(exitCodeOf(new CommanderError(0, 'commander.helpDisplayed', 'x'))).toBe(0);
    expect(exitCodeOf(invalidFields({ label: 'x' }))).toBe(2);
    expect(exitCodeOf(new ConfigError(['x']))).toBe(1);
    expect(exitCodeOf(new ConnectError('x', Code.Unavailable))).toBe(1);
  });
});
