import { hash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { ManagedSettingsSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManagedClients, sortedJson } from './managed-settings.ts';

describe('managed settings', () => {
  const clients = (...given: Parameters<typeof create<typeof ManagedSettingsSchema>>[1][]) => {
    const managed = new ManagedClients();
    managed.use({ managedSettings: given.map((each) => create(ManagedSettingsSchema, each)) });
    return managed;
  };

  it('are none until the broker has reported some', () => {
    expect(new ManagedClients().policyFor('Team A')).toBeUndefined();
    expect(clients().policyFor('Team A')).toBeUndefined();
  });

  it('of a group replace those for everyone', () => {
    const managed = clients({ model: 'small' }, { groupName: 'Team A', model: 'large' });
    const models = ['Team A', 'Team B', ''].map((group) => managed.policyFor(group)?.settings.model);
    expect(models).toEqual(['large', 'small', 'small']);
  });

  it('enforce a list of models, and switch telemetry on', () => {
    const policy = clients({ availableModels: ['a', 'b'], telemetryEndpoint: 'https://otel.example' }).policyFor('');
    expect(policy?.settings).toMatchObject({
      ...{ availableModels: ['a', 'b'], enforceAvailableModels: true },
      env: { CLAUDE_CODE_ENABLE_TELEMETRY: '1', OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example' },
    });
    expect(policy?.checksum).toBe(`sha256:${hash('sha256', sortedJson(policy?.settings))}`);
  });

  it('have the same text whatever the order of their keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).toReversed());
        expect(sortedJson(reversed)).toBe(sortedJson(value));
        expect(JSON.parse(sortedJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
    expect(sortedJson({ b: [{ z: 1, a: 2 }], a: {} })).toBe('{"a":{},"b":[{"a":2,"z":1}]}');
  });
});
