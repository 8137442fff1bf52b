# A worker of the fleet as a container.
#
#   docker build -f deploy/worker.Dockerfile -t my-worker .
#   docker run -e HEDDLE_TOKEN -e HEDDLE_SERVER=https://heddle.example.org my-worker
#
# The context is a project with `heddle` in its package.json and the jobs in jobs.ts.
FROM node:24-slim
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev
COPY . .
USER node
ENV HEDDLE_SERVER=http://127.0.0.1:4500
# exec: the worker gets SIGTERM itself, and hands back what it cannot finish.
CMD ["sh", "-c", "exec npx --no-install heddle work --server \"$HEDDLE_SERVER\" --jobs jobs.ts --folder /tmp --no-color"]
