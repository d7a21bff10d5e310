import { registerHooks } from 'node:module';

// A process that starts tracing according to its environment, logs within a span, and prints which
// modules it has loaded.
const loaded: string[] = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});
const { createLogger, inSpan, Metrics, SpanKind, startTracing } = await import('../index.ts');
const logger = createLogger('test');
const tracing = await startTracing({ service: 'test', logger, metrics: new Metrics() });
logger.info('outside');
await inSpan('POST /v1/messages', { kind: SpanKind.SERVER }, async () => logger.info('inside'));
await tracing?.[Symbol.asyncDispose]();
process.stdout.write(loaded.join('\n'));
