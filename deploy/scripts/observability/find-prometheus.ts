import { findPrograms } from '@gateway/testkit';

/** Prometheus and promtool of this machine, else of Debian's package. */
export function findPrometheus() {
  return findPrograms({ name: 'prometheus', programs: ['prometheus', 'promtool'], packages: ['prometheus'] });
}
