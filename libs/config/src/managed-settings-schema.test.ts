import { describe, expect, it } from 'vitest';
import { managedSettingsSchema } from './managed-settings-schema.ts';

describe('managed_settings in gateway.yaml', () => {
  it('are for everyone, for groups, or for both', () => {
    const parsed = managedSettingsSchema.parse({
      default: { model: 'small' },
      groups: { 'Team A': { available_models: ['large'], telemetry_endpoint: 'https://otel.example' } },
    });
    expect(parsed).toEqual([
      { groupName: 'Team A', availableModels: ['large'], model: '', telemetryEndpoint: 'https://otel.example' },
      { groupName: '', availableModels: [], model: 'small', telemetryEndpoint: '' },
    ]);
  });

  it.each([
    [{ default: {} }, 'must prescribe something'],
    [{ default: { available_models: [] } }, 'must not be empty'],
    [{ default: { available_models: ['a'], model: 'b' } }, 'must list the model'],
    [{ default: { telemetry_endpoint: 'file:///etc/passwd' } }, 'must be a URL'],
    [{ default: { telemetry_endpoint: 'https://a:b@otel.example' } }, 'must be a URL'],
    [{ default: { hooks: {} } }, 'Unrecognized key'],
  ])('are refused as %j', (given, text) => {
    expect(managedSettingsSchema.safeParse(given).error?.message).toContain(text);
  });
});
