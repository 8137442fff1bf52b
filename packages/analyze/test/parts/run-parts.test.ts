import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { systemKernel } from '@heddle/core/lowlevel'
import type { ThreadPool } from '@heddle/core/lowlevel'
import { SourceTexts } from '../../src/frontend/source-text.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import type { PartTask } from '../../src/parts/part-job.ts'
import type { PartResult } from '../../src/parts/part-result.ts'
import type { Part } from '../../src/parts/parts.ts'
import { runParts, startThreads, threadsFor } from '../../src/parts/run-parts.ts'
import type { PartsContext } from '../../src/parts/run-parts.ts'
import { tempFolder } from '../support/temp-folder.ts'

const race = `export class Client {
  #session
  async connect() {
    if (this.#session === undefined) this.#session = await open()
    return this.#session
  }
}
`

/** Three parts: a race, one that cannot be read whole, and a larger one with a race in its last file. */
async function threeParts(
  t: TestContext,
): Promise<{ parts: readonly Part[]; context: PartsContext }> {
  const root = tempFolder(t, {
    'a/client.js': race,
    'b/broken.js': 'export function (',
    'b/invalid.js': Uint8Array.of(0x2f, 0x2f, 0xff, 0x0a),
    'c/empty.js': 'export {}\n'.repeat(200),
    'c/last.js': `\uFEFF${race}`,
  })
  const names = [
    ['a/client.js'],
    ['b/broken.js', 'b/invalid.js', 'b/missing.js'],
    ['c/empty.js', 'c/last.js'],
  ]
  const parts = names.map((part) => part.map((name) => path.join(root, name)))
  const context: PartsContext = {
    options: { root, files: parts.flat(), types: 'none' },
    texts: new SourceTexts(),
    catalogue: await loadCatalogue(),
    kernel: systemKernel,
  }
  return { parts, context }
}

/** The same in threads, which are gone when the test ends. */
function inThreads(t: TestContext, context: PartsContext): PartsContext {
  const pool = startThreads(2, 3, systemKernel)
  t.after(() => pool.stop())
  return { ...context, pool }
}

const untimed = ({ ms: _, ...result }: PartResult): Omit<PartResult, 'ms'> => result

test('I1: threads find the same, in the order of the parts', async (t) => {
  const { parts, context } = await threeParts(t)
  const here = await runParts(parts, context)
  const there = await runParts(parts, inThreads(t, context))
  assert.deepEqual(there.map(untimed), here.map(untimed))
  assert.deepEqual(
    here.map(({ findings }) => findings.map(({ finding }) => `${finding.file} ${finding.rule}`)),
    [['a/client.js H101'], [], ['c/last.js H101']],
  )
  assert.deepEqual(
    here[1]!.diagnostics.map(({ kind, file }) => `${kind} ${file}`),
    ['parse-error b/broken.js', 'unreadable b/invalid.js', 'unreadable b/missing.js'],
  )
})

test('I2: the longest parts are begun first', async (t) => {
  const { parts, context } = await threeParts(t)
  const begun: Part[] = []
  const run = ({ input }: { readonly input: PartTask }): Promise<unknown> => {
    begun.push(input.files)
    return Promise.resolve(input.files)
  }
  const results = await runParts(parts, { ...context, pool: { run } as unknown as ThreadPool })
  const [a, b, c] = parts
  assert.deepEqual(begun, [c, a, b])
  assert.deepEqual(results, parts)
})

test('a part in a thread has the texts of its files at the start, not those on the disk', async (t) => {
  const { parts, context } = await threeParts(t)
  const [a] = parts
  const texts = new SourceTexts(new Map([[a![0]!, '']]))
  const [result] = await runParts([a!], inThreads(t, { ...context, texts }))
  assert.deepEqual(result!.findings, [])
  assert.deepEqual(result!.files, a)
})

test('the selection of files applies in threads, too', async (t) => {
  const { parts, context } = await threeParts(t)
  const options = { ...context.options, rules: ['H505'] }
  const results = await runParts(parts, inThreads(t, { ...context, options }))
  assert.deepEqual(
    results.flatMap(({ findings }) => findings),
    [],
  )
})

test('a caller that gives up gets its own reason', async (t) => {
  const { parts, context } = await threeParts(t)
  const ending = new AbortController()
  const options = { ...context.options, signal: ending.signal }
  const running = runParts(parts, inThreads(t, { ...context, options }))
  const reason = new Error('enough')
  ending.abort(reason)
  await assert.rejects(running, reason)
})

test('an error in a thread is the same as on the loop', async (t) => {
  const { parts, context } = await threeParts(t)
  const options = { ...context.options, models: ['/nowhere/model.json'] }
  const running = runParts(parts, inThreads(t, { ...context, options }))
  await assert.rejects(running, { code: 'HDL_MODEL_UNREADABLE' })
})

test('there are threads only for programs that keep them busy', () => {
  const million = 1_000_000
  assert.equal(threadsFor(0, 8), 0)
  assert.equal(threadsFor(35 * million, 8), 0)
  assert.equal(threadsFor(36 * million, 8), 2)
  assert.equal(threadsFor(500 * million, 8), 8)
  assert.equal(threadsFor(500 * million, 1), 0)
})
