import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { systemKernel } from '@heddle/core/lowlevel'
import { analyze } from '../../src/analyze.ts'
import type { AnalyzeOptions } from '../../src/analysis.ts'
import { Resolver } from '../../src/frontend/resolve/resolve.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import type { PartResult } from '../../src/parts/part-result.ts'
import { shareParts } from '../../src/parts/share-parts.ts'
import { tempFolder } from '../support/temp-folder.ts'

/** Finds the same race in each of its packages. */
function workspace(t: TestContext, packages: readonly string[]): { root: string; files: string[] } {
  const race = [
    'export class Client {',
    '  #session: object | undefined',
    '  async connect(): Promise<object> {',
    '    if (this.#session === undefined) {',
    '      this.#session = await open()',
    '    }',
    '    return this.#session',
    '  }',
    '}',
    'declare function open(): Promise<object>',
  ].join('\n')
  const names = packages.map((name) => `${name}/index.ts`)
  const root = tempFolder(
    t,
    Object.fromEntries(
      packages.flatMap((name) => [
        [`${name}/package.json`, JSON.stringify({ name })],
        [`${name}/index.ts`, race],
      ]),
    ),
  )
  return { root, files: names.map((name) => path.join(root, name)) }
}

test('the findings are the same here, with helpers, and with the program kept', async (t) => {
  const { root, files } = workspace(t, ['a', 'b', 'c', 'd'])
  const options: AnalyzeOptions = { root, files, types: 'none' }
  const alone = await analyze({ ...options, helpers: 0 })
  const shared = await analyze({ ...options, helpers: 2 })
  const kept = await analyze({ ...options, keepsProgram: true })
  assert.deepEqual(
    alone.findings.map(({ file, rule }) => `${file} ${rule}`),
    ['a', 'b', 'c', 'd'].map((name) => `${name}/index.ts H101`),
  )
  for (const other of [shared, kept]) {
    assert.deepEqual(other.findings, alone.findings)
    assert.deepEqual(other.diagnostics, alone.diagnostics)
    assert.deepEqual(other.files, alone.files)
    assert.deepEqual({ ...other.stats, ms: 0 }, { ...alone.stats, ms: 0 })
    const [finding] = other.findings
    assert.deepEqual(other.extentOf(finding!), [3, 8])
  }
  assert.deepEqual(new Set(alone.findings.map((one) => one.fingerprint)).size, 4)
  assert.equal(kept.program.files.length, 4)
  assert.equal(shared.program, undefined)
})

test('a guess is made among the classes of a part, not of strangers', async (t) => {
  const save = 'export class Store { async persistAll(): Promise<void> { await 0 } }'
  const use = 'export async function all(store: any) { await store.persistAll() }'
  const root = tempFolder(t, {
    'a/package.json': '{ "name": "a" }',
    'a/index.ts': `${save}\n${use}`,
    'b/package.json': '{ "name": "b" }',
    'b/index.ts': save,
  })
  const files = ['a/index.ts', 'b/index.ts'].map((name) => path.join(root, name))
  const { program } = await analyze({ root, files, types: 'none', keepsProgram: true })
  const call = program.units.flatMap(({ calls }) => calls).find((one) => one.name === 'persistAll')
  assert.deepEqual(
    call?.targets.map(({ file }) => file.path),
    ['a/index.ts'],
  )
})

async function share(
  root: string,
  files: readonly string[],
  changes: { readonly signal?: AbortSignal; readonly models?: readonly string[] } = {},
): Promise<readonly PartResult[]> {
  const { signal, models } = changes
  return shareParts(
    files.map((file) => ({ files: [file], size: 1 })),
    {
      options: { root, ...(signal !== undefined && { signal }) },
      start: { root, files, overlays: new Map(), ...(models !== undefined && { models }) },
      catalogue: await loadCatalogue(),
      resolver: new Resolver(files),
      clock: systemKernel.clock,
      helpers: 2,
    },
  )
}

test('I1, I2: what a helper does not do is done without it, in the order of the parts', async (t) => {
  const { root, files } = workspace(t, ['a', 'b', 'c'])
  const results = await share(root, files, { models: [path.join(root, 'missing.json')] })
  assert.deepEqual(
    results.map((one) => one.files.map((file) => file.path)),
    [['a/index.ts'], ['b/index.ts'], ['c/index.ts']],
  )
})

test('I3: a signal ends it, with its helpers', async (t) => {
  const { root, files } = workspace(t, ['a', 'b'])
  const reason = new Error('enough')
  const sharing = share(root, files, { signal: AbortSignal.abort(reason) })
  await assert.rejects(sharing, reason)
})
