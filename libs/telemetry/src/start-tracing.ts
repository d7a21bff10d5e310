import type { Environment, TracingOptions } from './tracing-sdk.ts';

/**
 * Sends spans over OTLP when an endpoint is set; the SDK is loaded only then. An endpoint that is away costs requests nothing: a
 * bounded queue of spans waits for it, and what does not fit is dropped and counted. Disposing it sends what is left.
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
