import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  plugins: [react()],
  build: {
    target: 'es2022',
    // Without it Vite inlines small files as data: URLs, which the Content-Security-Policy refuses for scripts.
    assetsInlineLimit: 0,
    // The polyfill is an inline-able script for browsers that are older than the target.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // size.js reads from it what the first view needs.
    manifest: 'manifest.json',
  },
});
