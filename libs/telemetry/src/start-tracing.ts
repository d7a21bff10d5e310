import type { Environment, TracingOptions } from './tracing-sdk.ts';

/**
 * Sends spans over OTLP when an endpoint is set; only then does it load the SDK. An unreachable
 * endpoint does not delay requests: a bounded queue holds spans, and those that do not fit are
 * dropped and counted. Disposal sends the remaining spans.
 *
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export async function startTracing(
  options: TracingOptions,
  env: Environment = process.env,
): Promise<AsyncDisposable | undefined> {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!endpoint || env.OTEL_SDK_DISABLED === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const { startSdk } = await import('./tracing-sdk.ts');
  return startSdk(options, env);
}
