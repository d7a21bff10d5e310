import { Component, type ReactNode } from 'react';
import { Failure } from '../ui/state.tsx';

/** Keeps the rest of the console when a page breaks. */
export class ErrorFence extends Component<{ readonly children: ReactNode }, { readonly broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    const text = 'This page could not be shown. The gateway may have been updated since the console was loaded.';
    return (
      <Failure
        problem={{ kind: 'other', fields: {}, text }}
        retryLabel="Load again"
        onRetry={() => window.location.reload()}
      />
    );
  }
}
