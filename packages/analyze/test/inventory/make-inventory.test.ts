import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { makeInventory } from '../../src/inventory/make-inventory.ts'
import type { Inventory, WorkItem } from '../../src/inventory/inventory.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import { programOf } from '../blocking/program.ts'
import { service } from './project.ts'

let inventory: Inventory
before(async () => {
  inventory = makeInventory(programOf(service), await loadCatalogue())
})

const section = (file: string) => {
  const found = inventory.sections.find((one) => one.file === file)
  assert.ok(found !== undefined, file)
  return found
}

/** `[LOOP] GET /x`, and its inner entries, indented. */
function outline(file: string): string[] {
  const lines = (items: readonly WorkItem[], indent: string): string[] =>
    items.flatMap(({ tag, name, note, inside }) => [
      `${indent}[${tag}] ${name}${note === undefined ? '' : ` (${note})`}`,
      ...lines(inside ?? [], `${indent}  `),
    ])
  return section(file).entryPoints.flatMap(({ tag, name, work }) => [
    `[${tag}] ${name}`,
    ...lines(work, '  '),
  ])
}

test('entry points have names of their own and the calls they lead to', () => {
  assert.deepEqual(outline('src/server.ts'), [
    '[LOOP] when the module is loaded',
    '  [CPU/LOOP] readFileSync()',
    '[LOOP] GET /file/:name',
    '  [THREAD:uv] readFile()',
    '  [LOOP] render()',
    '    [CPU/LOOP] execSync()',
    '[LOOP] POST /jobs',
    '  [REMOTE] mails.add()',
    '  [PROC] spawn()',
    '[LOOP] GET /video',
    '  [STREAM/THREAD] createReadStream()',
    '[LOOP] on message',
    '  [CPU/LOOP] JSON.parse() (message, no limit)',
  ])
  assert.deepEqual(section('src/server.ts').light, ['every interval', 'ping()'])
})

test('the place of a job is its tag', () => {
  const tags = section('src/jobs.ts').entryPoints.map(({ tag, name }) => `[${tag}] ${name}`)
  assert.deepEqual(
    tags.filter((text) => text.includes('job')),
    ['[THREAD] job plot', '[REMOTE] job far', '[LOOP] job near'],
  )
})

test('a handler in the options of its route has the name of the route', async () => {
  const program = programOf({
    'src/server.ts': `import { readFileSync } from 'node:fs'
app.post('/upload', {
  onRequest: (request, reply) => { readFileSync(request.url) },
  handler: async (request, reply) => { readFileSync(request.body) },
})`,
  })
  const { sections } = makeInventory(program, await loadCatalogue())
  assert.deepEqual(
    sections[0]?.entryPoints.map(({ name }) => name),
    ['POST /upload, onRequest()', 'POST /upload, handler()'],
  )
})

test('the place of a job is its tag, also in a workspace that has the package itself', async () => {
  const program = programOf({
    '@heddle/core/index.ts': 'export function job(options, run) { return { ...options, run } }',
    'jobs/index.ts': `import { job } from '@heddle/core'
import { gzipSync } from 'node:zlib'
export const pack = job({ name: 'pack', place: 'thread', module: import.meta.url }, (text) => gzipSync(text))`,
  })
  const { sections } = makeInventory(program, await loadCatalogue())
  const { entryPoints } = sections.find(({ file }) => file === 'jobs/index.ts')!
  assert.ok(entryPoints.some(({ tag, name }) => tag === 'THREAD' && name === 'job pack'))
})

test('code in a thread does not block the loop', () => {
  assert.equal(section('src/writer-thread.ts').runsIn, 'thread')
  assert.deepEqual(section('src/writer-thread.ts').risk, [])
  assert.deepEqual(inventory.summary.threadFiles, ['src/writer-thread.ts'])
  assert.ok(inventory.hotSpots.every(({ file }) => file !== 'src/writer-thread.ts'))
})

test('hot spots are ordered by reach', () => {
  assert.deepEqual(
    inventory.hotSpots.map(({ reach, name, file }) => `${reach} ${name} ${file}`),
    [
      'serving execSync() src/render.ts',
      'serving JSON.parse() src/server.ts',
      'start-up readFileSync() src/server.ts',
    ],
  )
})

test('the matrix has a row for each file, with the work left on the loop', () => {
  const rows = inventory.matrix.map(({ component, loop, remaining }) => [
    component,
    loop.join(', '),
    remaining.map(({ name }) => name).join(', '),
  ])
  assert.deepEqual(rows, [
    ['src/jobs.ts', '3 jobs', ''],
    ['src/render.ts', '', 'execSync()'],
    [
      'src/server.ts',
      '3 request handlers, 1 timer, 1 listener, 1 async function',
      'JSON.parse(), readFileSync()',
    ],
    ['src/writer-thread.ts', '1 listener', ''],
  ])
})

test('a matrix of many files is one of folders', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [
      `src/part${i % 3}/f${i}.ts`,
      'export async function go() {}',
    ]),
  )
  const { matrix } = makeInventory(programOf(files), await loadCatalogue())
  assert.deepEqual(
    matrix.map(({ component, loop }) => `${component} ${loop.join()}`),
    [
      'src/part0/ 20 async functions',
      'src/part1/ 20 async functions',
      'src/part2/ 20 async functions',
    ],
  )
})

test('a runtime invariant is reported with its place', () => {
  assert.deepEqual(
    inventory.invariants.map(({ text, at }) => [
      text.slice(0, 24),
      at.map(({ name, file }) => name ?? file).join(),
    ]),
    [
      ['Entries of threads, whic', 'src/writer-thread.ts'],
      ['The pool of libuv is sha', ''],
      ['State of one process, wh', 'sessions'],
    ],
  )
})

test('the same files in another order give the same inventory', async () => {
  const turned = Object.fromEntries(Object.entries(service).toReversed())
  assert.deepEqual(makeInventory(programOf(turned), await loadCatalogue()), inventory)
})

test('an empty program has an empty inventory', async () => {
  const empty = makeInventory(programOf({}), await loadCatalogue())
  assert.deepEqual(empty.matrix, [])
  assert.deepEqual(empty.sections, [])
  assert.equal(empty.summary.entryPoints, 0)
})
