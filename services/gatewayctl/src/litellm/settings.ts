import type { InputValue } from './input-value.ts';

/** The settings of gateway.yaml that say the same as settings of LiteLLM's router. */
export function settingsOf(root: InputValue): Readonly<Record<string, number>> {
  return { ...attempts(root), ...cooldowns(root) };
}

/** The settings of the router win. */
function setting(root: InputValue, name: string): InputValue {
  const [router, library] = [root.at('router_settings', name), root.at('litellm_settings', name)];
  if (!router.isGiven) return library;
  if (library.isGiven) library.leave(`router_settings.${name} wins.`);
  return router;
}

function attempts(root: InputValue) {
  const retries = setting(root, 'num_retries');
  const { number } = retries;
  if (number === undefined || !Number.isInteger(number) || number < 0) return {};
  retries.take();
  const most = Math.min(20, number + 1);
  if (most <= number) retries.note('A request has at most 20 attempts.');
  return { max_error_attempts: most };
}

function cooldowns(root: InputValue) {
  const cooldown = setting(root, 'cooldown_time');
  const { number } = cooldown;
  if (number === undefined || number <= 0 || number > 31_536_000) return {};
  cooldown.take();
  cooldown.note('It is the first pause after errors, which doubles. After a limit, the provider names the time.');
  return {
    error_cooldown_seconds: number,
    ...(number > 60 && { error_cooldown_max_seconds: number }),
  };
}
