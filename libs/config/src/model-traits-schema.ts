import { z } from 'zod';

/** What models of a pool take, where it is not what the gateway takes for granted. A trait left out is not said. */
export const modelTraitsSchema = z.strictObject({
  efforts: z
    .array(z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']))
    .refine((efforts) => new Set(efforts).size === efforts.length, 'must not name an effort twice')
    .optional()
    .describe('Reasoning efforts that the model takes; [] for none. Pools of format messages: low to max only.'),
  thinking: z
    .enum(['none', 'budget', 'adaptive'])
    .optional()
    .describe('Format messages: not at all, enabled with a budget of tokens, or adaptive.'),
  thinking_by_default: z
    .boolean()
    .optional()
    .describe('Format messages, adaptive thinking: whether the model thinks when the request says nothing.'),
  thinking_least: z
    .enum(['disabled', 'between_tools', 'low_effort'])
    .optional()
    .describe('Format messages, adaptive thinking: what is sent for the effort none.'),
  forced_tool_choice: z
    .boolean()
    .optional()
    .describe('Format messages: whether tool_choice may make the model call a tool.'),
  structured_output: z
    .boolean()
    .optional()
    .describe('Format messages: whether JSON schemas for the answer and strict tools are understood.'),
  max_output_tokens: z.int().min(1).max(10_000_000).optional().describe('Format messages: most tokens of one answer.'),
});

/** The traits of a model as the file has them. */
export type ModelTraitsInput = z.output<typeof modelTraitsSchema>;
