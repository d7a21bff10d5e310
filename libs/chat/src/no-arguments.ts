/** The arguments of a tool call that the model wrote none for: clients parse them as JSON. */
export const noArguments = '{}';
