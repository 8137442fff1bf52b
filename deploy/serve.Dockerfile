# A server as a container, from the packed packages.
#
#   mkdir -p packed && npm pack --workspaces --pack-destination packed
#   docker build -f deploy/serve.Dockerfile -t my-heddle .
#   docker run -p 4500:4500 -v heddle:/data my-heddle
#
# The context has the folder packed with the archives of `npm pack` (or take the line below that installs from the registry), and
# the folder app with jobs.ts, heddle.config.ts and a package.json for what the jobs import.
FROM node:24-slim AS install
WORKDIR /app
COPY app/package.json ./
COPY packed/*.tgz /packed/
# From the registry instead: RUN npm install --omit=dev --no-audit --no-fund heddle
RUN npm install --omit=dev --no-audit --no-fund /packed/*.tgz

FROM node:24-slim
WORKDIR /app
COPY --from=install /app/node_modules ./node_modules
COPY app ./
# What must outlive the container: acknowledged work, results, runs.
RUN mkdir /data && chown node /data
VOLUME /data
USER node
EXPOSE 4500
# A container is reached from outside of it: the server refuses that until there are users or tokens (heddle users add).
# Without a shell or npx in between, SIGTERM reaches the server itself.
ENTRYPOINT ["node_modules/.bin/heddle"]
CMD ["serve", "--store", "sqlite:/data/serve.db", "--host", "0.0.0.0", "--no-color"]
HEALTHCHECK --interval=10s CMD ["node", "-e", "fetch('http://127.0.0.1:4500/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
