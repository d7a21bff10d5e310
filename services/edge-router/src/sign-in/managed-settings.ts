import { hash } from 'node:crypto';
import type { ManagedSettings, WatchCatalogResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

/** A policy for the client of a person, as GET /managed/settings answers it. */
export interface ClientPolicy {
  /** "sha256:…" */
  readonly checksum: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** What gateway.yaml prescribes to the clients of people, as the broker last reported it. */
export class ManagedClients {
  #byGroup: ReadonlyMap<string, ClientPolicy> = new Map();

  use({ managedSettings }: Pick<WatchCatalogResponse, 'managedSettings'>): void {
    this.#byGroup = new Map(managedSettings.map((given) => [given.groupName, policyOf(given)]));
  }

  /**
   * The policy for tokens of this group. Undefined: there is none, or the broker has not been
   * reached yet.
   */
  policyFor(groupName: string): ClientPolicy | undefined {
    return this.#byGroup.get(groupName) ?? this.#byGroup.get('');
  }
}

/** In the words of Claude Code, the only client that reads it. */
function policyOf({ availableModels, model, telemetryEndpoint }: ManagedSettings): ClientPolicy {
  const settings = {
    // A list without enforcement breaks the default model, if that is not on it.
    ...(availableModels.length > 0 && { availableModels, enforceAvailableModels: true }),
    ...(telemetryEndpoint !== '' && {
      env: {
        CLAUDE_CODE_ENABLE_TELEMETRY: '1',
        OTEL_EXPORTER_OTLP_ENDPOINT: telemetryEndpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_LOGS_EXPORTER: 'otlp',
        OTEL_METRICS_EXPORTER: 'otlp',
      },
    }),
    ...(model !== '' && { model }),
  };
  return { checksum: `sha256:${hash('sha256', sortedJson(settings))}`, settings };
}

/** The client computes the checksum of this text: keys sorted at all levels, and no spaces. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
