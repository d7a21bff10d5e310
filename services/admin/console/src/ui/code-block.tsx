/** A text to copy. The keyboard can scroll it. */
export function CodeBlock({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it.
    <section className="text-block" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  );
}
