import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/**
 * The console as files that the admin service serves: nothing inline, as its
 * Content-Security-Policy requires.
 */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), readableDescriptors()],
  build: {
    target: 'baseline-widely-available',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The packages in the scripts, for the bill of materials of a release.
    license: { fileName: '.parts.json' },
    // Two scripts: the libraries, which rarely change, and our own code. More scripts would
    // compress less well.
    rolldownOptions: {
      // On a slow machine it would print the timings of plugins.
      checks: { pluginTimings: false },
      output: { codeSplitting: { groups: [{ name: 'libraries', test: /node_modules|proto[\\/]gen/ }] } },
    },
  },
});

/**
 * Writes the descriptors of contracts as the texts that they are mostly made of. Base64, in which
 * they are generated, hides that names are repeated, so that it compresses badly.
 */
function readableDescriptors(): Plugin {
  return {
    name: 'readable-descriptors',
    transform: {
      filter: { id: /_pb\.js$/ },
      handler: (code) =>
        code.replace(/fileDesc\("([\w+/=]+)"/, (_call, base64: string) => {
          const bytes = Buffer.from(base64, 'base64').toString('latin1');
          return `fileDesc(btoa(${JSON.stringify(bytes)})`;
        }),
    },
  };
}
