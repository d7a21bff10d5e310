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
  const { usual = [], special = [] } = Object.groupBy(models, ({ serviceTier, speed, geography }) =>
    serviceTier + speed + geography === '' ? 'usual' : 'special',
  );
  const list = { currency, prices: usual.map(toPrice), specialPrices: special.map(toPrice) };
  return list satisfies MessageInitShape<typeof PriceListSchema>;
}

const toPrice = (price: NonNullable<Prices>['models'][number]) => ({ ...price, toolFees: [...price.toolFees] });

const noPrices = { currency: '', models: [] };
