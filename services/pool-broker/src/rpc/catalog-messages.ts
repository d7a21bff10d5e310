import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayConfig, Prices } from '@gateway/config';
import type { ModelSchema } from '@gateway/proto/pool/v1/model_pb.js';
import type { ManagedSettingsSchema, PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { ServedModel } from '../catalog/list-models.ts';

export function toModelMessage({ candidates, servedBy, ...model }: ServedModel): MessageInitShape<typeof ModelSchema> {
  return { ...model, candidates: [...candidates], servedBy: servedBy.map((labels) => ({ labels: [...labels] })) };
}

export function toManagedSettings({
  availableModels,
  ...given
}: GatewayConfig['managedSettings'][number]): MessageInitShape<typeof ManagedSettingsSchema> {
  return { ...given, availableModels: [...availableModels] };
}

/** The prices of gateway.yaml. Undefined: it has none. */
export function toPriceList({ currency, models }: NonNullable<Prices> = noPrices) {
  const prices = models.map(({ model, fromDay, above, ...rates }) => ({
    ...{ model, fromDay, ...toRates(rates) },
    ...(above && { above: { ...toRates(above), inputTokens: BigInt(above.inputTokens) } }),
  }));
  return { currency, prices } satisfies MessageInitShape<typeof PriceListSchema>;
}

const noPrices = { currency: '', models: [] };

type Rates = Omit<NonNullable<Prices>['models'][number], 'model' | 'fromDay' | 'above'>;

function toRates(rates: Rates) {
  return {
    inputMicros: BigInt(rates.inputMicros),
    cachedInputMicros: BigInt(rates.cachedInputMicros),
    cacheWrite5mMicros: BigInt(rates.cacheWrite5mMicros),
    cacheWrite1hMicros: BigInt(rates.cacheWrite1hMicros),
    outputMicros: BigInt(rates.outputMicros),
  };
}
