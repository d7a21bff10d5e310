import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

describe('gatewayctl config', () => {
  const commandLine = (
    problems: string[] = [],
    changes: string[] = [],
    newReferences: string[] = [],
    modelsWithoutPrice: string[] = [],
  ) =>
    new CommandLine((router) =>
      router.service(ConfigurationService, {
        getConfiguration: () => ({
          file: { path: '/etc/gateway.yaml', text: 'pools: {}\n', loadedAtMs: Date.UTC(2026, 10, 28) },
          settings: [
            { service: 'limiter', name: 'REDIS_URL', value: '(set)', origin: 'environment' },
            { service: 'limiter', name: 'LOG_LEVEL', value: 'info', origin: 'default', address: '10.0.0.1:9090' },
          ],
          silent: ['edge-router at 10.0.0.3:9090: did not answer within 2 s'],
        }),
        checkConfiguration: ({ text }) => ({
          problems,
          changes: [...changes, text.slice(0, 7)],
          newReferences,
          modelsWithoutPrice,
        }),
      }),
    );

  it('shows settings with their origin, or the file itself', async () => {
    const { printed } = await commandLine().run('config', 'show');
    expect(printed).toMatch(
      /gateway\.yaml +\/etc\/gateway\.yaml\nin use since +2026-11-28 00:00:00 UTC\n\n.*\nlimiter +REDIS_URL +\(set\) +environment/,
    );
    expect(printed).toMatch(/^limiter at 10\.0\.0\.1:9090 +LOG_LEVEL +info +default$/m);
    expect(printed).toMatch(/\n\nUnknown: edge-router at 10\.0\.0\.3:9090: did not answer within 2 s\n$/);
    expect((await commandLine().run('config', 'show', '--file')).printed).toBe('pools: {}\n');
  });

  it('shows the settings without the file while the pool-broker is away', async () => {
    const silent = ["gateway.yaml: The pool-broker (10.0.0.4:50051) can't be reached."];
    const settings = [{ service: 'limiter', name: 'REDIS_URL', value: '(set)', origin: 'environment' }];
    const { printed } = await new CommandLine((router) =>
      router.service(ConfigurationService, { getConfiguration: () => ({ settings, silent }) }),
    ).run('config', 'show');
    expect(printed).toMatch(/^gateway\.yaml +unknown$/m);
    expect(printed).toMatch(/^limiter +REDIS_URL/m);
    expect(printed).toContain(`Unknown: ${silent[0]}\n`);
  });

  it('checks a file: its problems, or its changes', async () => {
    const file = import.meta.filename;
    const fine = await commandLine([], ['+ pools.responses: new']).run('config', 'check', file);
    expect(fine).toMatchObject({ exitCode: 0, printed: '✓ The file is valid.\n+ pools.responses: new\nimport \n' });
    const referring = await commandLine([], [], ['KEY_A', 'KEY_B']).run('config', 'check', file);
    expect(referring.printed).toBe('✓ The file is valid.\nSet these new references first: KEY_A, KEY_B\nimport \n');
    const unpriced = await commandLine([], [], [], ['gpt-x', 'gpt-y']).run('config', 'check', file);
    expect(unpriced).toMatchObject({
      exitCode: 0,
      printed: '✓ The file is valid.\nModels without a price: gpt-x, gpt-y\nimport \n',
    });
    const wrong = await commandLine(['pools: is missing.']).run('config', 'check', file);
    expect(wrong).toMatchObject({ exitCode: 1, printed: '✗ pools: is missing.\n' });
    expect(await commandLine().run('config', 'check', '/nowhere')).toMatchObject({ exitCode: 2 });
  });
});
