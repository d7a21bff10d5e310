import type { Service } from '@gateway/lifecycle';

/** Why one of these services can't take requests now; undefined when all can. */
export async function firstReason(services: readonly Pick<Service, 'notReady'>[]): Promise<string | undefined> {
  const reasons = await Promise.all(services.map((service) => service.notReady()));
  return reasons.find((reason) => reason !== undefined);
}
