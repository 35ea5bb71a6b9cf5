import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const firstView = new Set<string>();

/** Notes the modules that the page imports before it shows anything, without those that are loaded on demand. */
function noteFirstView(): Plugin {
  return {
    name: 'first-view',
    buildEnd() {
      const ids = [...this.getModuleIds()].filter((id) => this.getModuleInfo(id)?.isEntry);
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
        if (firstView.has(id)) continue;
        firstView.add(id);
        ids.push(...(this.getModuleInfo(id)?.importedIds ?? []));
      }
    },
  };
}

export default defineConfig({
  base: '/console/',
  plugins: [react(), noteFirstView()],
  resolve: {
    alias: {
      // Only `verify` of the receiver package needs it.
      'node:crypto': source('src/receiver/crypto.ts'),
    },
  },
  // The keys of a dictionary are no names.
  json: { namedExports: false },
  build: {
    target: 'es2022',
    // Without it Vite inlines small files as data: URLs, which the Content-Security-Policy refuses for scripts.
    assetsInlineLimit: 0,
    // The polyfill is an inline-able script for browsers that are older than the target.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // size.js reads from it what the first view needs.
    manifest: 'manifest.json',
    rolldownOptions: {
      output: {
        // Otherwise, whatever the first view shares with another one becomes a file of its own: a dozen requests.
        codeSplitting: { groups: [{ name: 'first', test: (id: string) => firstView.has(id) }] },
      },
    },
  },
});
