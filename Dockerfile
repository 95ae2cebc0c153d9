# A server in a container, for holders of a token: docs/deploy.md. Not built by any test.
FROM node:24-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run --silent build && npm prune --omit=dev --no-audit --no-fund

FROM node:24-slim
# Tools of the commands that clients run; bubblewrap is for sandboxes, which need user namespaces.
RUN apt-get update \
	&& apt-get install -y --no-install-recommends bubblewrap ca-certificates git procps \
	&& rm -rf /var/lib/apt/lists/* \
	&& useradd --create-home --uid 10001 exec
COPY --from=build /src/package.json /opt/longarm/
COPY --from=build /src/dist /opt/longarm/dist
COPY --from=build /src/node_modules /opt/longarm/node_modules
RUN ln -s /opt/longarm/dist/bin/longarm.js /usr/local/bin/longarm
USER exec
WORKDIR /home/exec
EXPOSE 4500
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:4500/readyz').then(({ok}) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["longarm", "serve"]
CMD ["--listen", "ws://0.0.0.0:4500", "--ws-auth", "capability-token", "--ws-token-file", "/run/secrets/longarm_token"]
