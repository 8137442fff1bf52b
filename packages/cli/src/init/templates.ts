/** The files of a first project. A test runs all of them. */

export interface ProjectOptions {
  /** Name of the package. */
  readonly name: string
  /** Version of heddle: the project gets the version that made it. */
  readonly version: string
  readonly isService: boolean
}

export interface Manifest {
  readonly name: string
  readonly private: true
  readonly type: 'module'
  readonly engines: Readonly<Record<string, string>>
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

export function manifestOf({ name, version, isService }: ProjectOptions): Manifest {
  return {
    name,
    private: true,
    type: 'module',
    engines: { node: '>=22.18' },
    scripts: {
      start: 'heddle run src/graph.ts',
      test: 'node --test "test/**/*.test.ts"',
      check: 'tsc',
      ...(isService && { serve: 'heddle serve --jobs src/jobs.ts' }),
    },
    dependencies: { '@heddle/core': `^${version}`, heddle: `^${version}` },
    devDependencies: { '@types/node': '^24.0.0', typescript: '^5.9.0' },
  }
}

const jobs = `import { job } from '@heddle/core'

/** Runs on the event loop: it mostly waits. A failed attempt is tried again. */
export const load = job({ name: 'load', retries: 2 }, async (region: string, ctx) => {
  ctx.log(\`loading \${region}\`)
  return \`\${region};1;2;39\`
})

/** Runs in a thread: it computes, and the loop stays free. */
export const total = job({ name: 'total', place: 'thread', module: import.meta.url }, (csv: string) =>
  csv
    .split(';')
    .slice(1)
    .reduce((sum, cell) => sum + Number(cell), 0),
)
`

const graph = `import { Graph } from '@heddle/core'
import { load, total } from './jobs.ts'

const graph = new Graph()
for (const region of ['north', 'south']) {
  const rows = graph.add(\`load \${region}\`, load, { input: region })
  graph.add(\`total \${region}\`, total, { after: [rows], input: (of) => of(rows) })
}

export default graph
`

const test = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { load, total } from '../src/jobs.ts'

test('the total of the loaded rows', async () => {
  const graph = new Graph()
  const rows = graph.add('load', load, { input: 'north' })
  const sum = graph.add('total', total, { after: [rows], input: (of) => of(rows) })
  const result = await run(graph)
  assert.equal(result.of(sum), 42)
})

test('a job that fails is tried again a minute later, in virtual time', async () => {
  const flaky = job({ name: 'flaky', retries: 1 }, (_: unknown, { attempt }) => {
    if (attempt === 0) throw new Error('not yet')
    return 'done'
  })
  const clock = new VirtualClock()
  const graph = new Graph()
  const node = graph.add('flaky', flaky)
  const kernel = { clock, random: seededRandom(1) }
  const result = await clock.runUntil(run(graph, { kernel, retryBaseDelay: 60_000 }))
  assert.equal(result.of(node), 'done')
})
`

const tsconfig = `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true
  },
  "include": ["src", "test"]
}
`

const dockerfile = `FROM node:24-slim
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev
COPY src ./src
# The store: mount a volume here, so that acknowledged jobs survive the container.
VOLUME /app/.heddle
EXPOSE 4500
# A server that listens on other addresses than loopback wants users or tokens: see \`heddle users --help\`.
CMD ["npx", "heddle", "serve", "--jobs", "src/jobs.ts", "--host", "0.0.0.0"]
`

const ignored = 'node_modules\n.heddle\n'

/** Keyed by path. */
export function filesOf({ isService }: ProjectOptions): Readonly<Record<string, string>> {
  return {
    'src/jobs.ts': jobs,
    'src/graph.ts': graph,
    'test/jobs.test.ts': test,
    'tsconfig.json': tsconfig,
    '.gitignore': ignored,
    ...(isService && { Dockerfile: dockerfile, '.dockerignore': ignored }),
  }
}
