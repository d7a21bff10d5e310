import { z } from 'zod';

/** What GET /managed/settings prescribes to a client. Clients ask for it at each start. */
const policy = z
  .strictObject({
    available_models: z
      .array(z.string().min(1, 'must not be empty').max(200))
      .min(1, 'must not be empty')
      .max(100)
      .optional()
      .describe('The models that the client offers, as in GET /v1/models. Absent: all.'),
    model: z
      .string()
      .min(1, 'must not be empty')
      .max(200)
      .optional()
      .describe('The model that the client uses by default. Absent: the client decides.'),
    telemetry_endpoint: z
      .string()
      .refine((text) => isTelemetryUrl(text), 'must be a URL that starts with http:// or https://, without a user name')
      .optional()
      .describe(
        'Where the client sends its telemetry by OTLP over HTTP, such as https://otel.example. Absent: nowhere.',
      ),
  })
  .refine((given) => Object.values(given).some((value) => value !== undefined), 'must prescribe something')
  .refine(
    ({ available_models, model }) => model === undefined || available_models?.includes(model) !== false,
    'must list the model in available_models',
  )
  .transform(({ available_models: availableModels = [], model = '', telemetry_endpoint: telemetryEndpoint = '' }) => ({
    ...{ availableModels, model, telemetryEndpoint },
  }));

/** `managed_settings` in gateway.yaml. */
export const managedSettingsSchema = z
  .strictObject({
    default: policy.optional().describe('For tokens without a group, and of groups that are not listed.'),
    groups: z.record(z.string().min(1).max(100), policy).prefault({}).describe('By the name of the group.'),
  })
  .transform(({ default: everyone, groups }) => [
    ...Object.entries(groups).map(([groupName, given]) => ({ groupName, ...given })),
    ...(everyone === undefined ? [] : [{ groupName: '', ...everyone }]),
  ]);

function isTelemetryUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
