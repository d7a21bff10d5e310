/** A text to be copied into something else. The keyboard can scroll it. */
export function CodeBlock({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard.
    <section className="text-block" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  );
}
