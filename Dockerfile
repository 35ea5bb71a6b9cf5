# docker build -t posthorn .
# npm run image builds it with Docker or Buildah, and tries it.
ARG BASE=node:22-slim

# The build is the same for every architecture: the product has no native code.
FROM --platform=$BUILDPLATFORM ${BASE} AS build
WORKDIR /posthorn
COPY . .
# The embedded PostgreSQL is for development; a container uses DATABASE_URL. The secret is for those who need their own
# settings to reach the registry. Each package keeps what npm would publish.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=certificates,target=/root/certificates.pem \
  export NODE_EXTRA_CA_CERTS=/root/certificates.pem && npm ci && node deploy/image-parts.js /parts

FROM ${BASE}
ENV NODE_ENV=production POSTHORN_HOST=0.0.0.0 POSTHORN_PLATFORM_HOST=0.0.0.0
WORKDIR /posthorn
COPY --from=build --chown=root:root /parts .
# Nothing is written to the file system, so the root file system can be read-only.
USER 1000
EXPOSE 7400 7401
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.POSTHORN_PLATFORM_PORT || 7401) + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "packages/server/bin/posthorn.js"]
CMD ["serve"]
