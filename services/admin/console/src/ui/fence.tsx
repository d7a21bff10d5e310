import { Component, type ReactNode } from 'react';

interface FenceProps {
  readonly children: ReactNode;
  /** Shown in place of children that throw, with the reason. */
  readonly instead: (why: string) => ReactNode;
  /** The children are rendered again when it changes. */
  readonly of?: unknown;
}

/** Keeps what is around it usable when a part throws. */
export class Fence extends Component<FenceProps, { readonly why: string }> {
  override state = { why: '' };

  static getDerivedStateFromError(thrown: unknown) {
    return { why: thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `Error: ${thrown}` };
  }

  override componentDidUpdate(before: FenceProps) {
    if (this.state.why !== '' && before.of !== this.props.of) this.setState({ why: '' });
  }

  override render() {
    return this.state.why === '' ? this.props.children : this.props.instead(this.state.why);
  }
}
