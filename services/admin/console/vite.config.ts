import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The console as files that the admin service serves: nothing inline, as its Content-Security-Policy asks. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'baseline-widely-available',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // One script of the libraries, which stays the same for long, and one of ours: in more of them less can be compressed.
    rolldownOptions: {
      // On a slow machine it would say what took how long.
      checks: { pluginTimings: false },
      output: { codeSplitting: { groups: [{ name: 'libraries', test: /node_modules|proto[\\/]gen/ }] } },
    },
  },
});
