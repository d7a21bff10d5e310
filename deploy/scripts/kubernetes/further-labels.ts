import { z } from 'zod';

/** Labels of the gateway's own select pods, and can't be replaced. */
export const furtherLabels = z.record(
  z
    .string()
    .refine((key) => !key.startsWith('app.kubernetes.io/'))
    // Helm's regular expressions know no (?!…).
    .meta({ not: { pattern: '^app\\.kubernetes\\.io/' } }),
  z.string(),
);
