import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { analyze } from '../../src/analyze.ts'
import type { AnalyzeOptions } from '../../src/analysis.ts'
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

test('the findings are the same with the program kept and without', async (t) => {
  const { root, files } = workspace(t, ['a', 'b', 'c', 'd'])
  const options: AnalyzeOptions = { root, files, types: 'none' }
  const alone = await analyze(options)
  const kept = await analyze({ ...options, keepsProgram: true })
  assert.deepEqual(
    alone.findings.map(({ file, rule }) => `${file} ${rule}`),
    ['a', 'b', 'c', 'd'].map((name) => `${name}/index.ts H101`),
  )
  assert.deepEqual(kept.findings, alone.findings)
  assert.deepEqual(kept.diagnostics, alone.diagnostics)
  assert.deepEqual(kept.files, alone.files)
  assert.deepEqual({ ...kept.stats, ms: 0 }, { ...alone.stats, ms: 0 })
  for (const each of [alone, kept]) assert.deepEqual(each.extentOf(each.findings[0]!), [3, 8])
  assert.deepEqual(new Set(alone.findings.map((one) => one.fingerprint)).size, 4)
  assert.equal(kept.program.files.length, 4)
  assert.equal(alone.program, undefined)
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

test('an import of two packages with one name resolves the same way, whatever is kept', async (t) => {
  const limit = [
    'let tokens = 5',
    "export async function spend() { await fetch('y'); tokens -= 1 }",
    'export const left = () => tokens',
  ]
  const root = tempFolder(t, {
    'a/package.json': '{ "name": "twice" }',
    'a/index.ts': 'export const x = 1',
    'b/package.json': '{ "name": "twice", "exports": { "./limit": "./limit.ts" } }',
    'b/limit.ts': limit.join('\n'),
    'b/main.ts': `import { left, spend } from 'twice/limit'
export async function take() {
  if (left() > 0) await spend()
}`,
  })
  const files = ['a/index.ts', 'b/limit.ts', 'b/main.ts'].map((name) => path.join(root, name))
  const alone = await analyze({ root, files, types: 'none' })
  const kept = await analyze({ root, files, types: 'none', keepsProgram: true })
  assert.deepEqual(
    alone.findings.map(({ rule, file }) => `${rule} ${file}`),
    ['H101 b/main.ts'],
  )
  assert.deepEqual(kept.findings, alone.findings)
})
