/** Only the compiler knows what these calls mean: the objects come from parameters. */
import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { analyze } from '../../src/analyze.ts'
import type { ProgramAnalysis } from '../../src/analysis.ts'
import type { CallSite } from '../../src/ir/program.ts'
import { tempFolder, type Files } from '../support/temp-folder.ts'

const modules = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../../../node_modules')

async function analysed(
  t: TestContext,
  files: Files,
  types: 'auto' | 'none',
): Promise<ProgramAnalysis> {
  const root = tempFolder(t, {
    'tsconfig.json': '{ "compilerOptions": { "types": ["node"], "module": "nodenext" } }',
    ...files,
  })
  symlinkSync(modules, path.join(root, 'node_modules'))
  const sources = Object.keys(files).map((name) => path.join(root, name))
  return analyze({ root, files: sources, types, keepsProgram: true })
}

function callOf({ program }: ProgramAnalysis, name: string): CallSite {
  const site = program.units.flatMap((unit) => unit.calls).find((call) => call.name === name)
  assert.ok(site, `there is no call of ${name}`)
  return site
}

const files = {
  'pool.ts': [
    'export interface Source { pull(): void }',
    'export class Pool { drain(): void {} }',
    'export class BigPool extends Pool { override drain(): void {} }',
    'export class Other { drain(): void {} }',
  ].join('\n'),
  'main.ts': [
    "import type { Pool } from './pool.ts'",
    "import type { Hash } from 'node:crypto'",
    'export function main(pools: Pool[], hash: Hash, names: Map<string, string[]>): void {',
    '  for (const pool of pools) pool.drain()',
    '  hash.update("a")',
    '  for (const list of names.values()) list.sort()',
    '}',
  ].join('\n'),
}

test('a method call is linked to the class of the method and to its overrides', async (t) => {
  const site = callOf(await analysed(t, files, 'auto'), 'drain')
  assert.deepEqual(site.targets.map(({ name }) => name).sort(), ['BigPool.drain', 'Pool.drain'])
  assert.ok(site.targets.every(({ callers }) => callers.includes(site)))
  const untyped = callOf(await analysed(t, files, 'none'), 'drain')
  assert.deepEqual(untyped.targets, [])
})

test('methods of Node and of the language get the names that models know them by', async (t) => {
  const analysis = await analysed(t, files, 'auto')
  assert.equal(analysis.stats.types, 'typescript-7')
  assert.deepEqual(callOf(analysis, 'update').external, {
    module: 'node:crypto',
    path: ['Hash', 'update'],
  })
  assert.deepEqual(callOf(analysis, 'sort').external, {
    module: 'language',
    path: ['Array', 'sort'],
  })
})

test('a program that cannot be compiled loses no calls that names explain', async (t) => {
  const broken = { ...files, 'main.ts': `${files['main.ts']}\nconst x: Missing = y.z()` }
  const analysis = await analysed(t, broken, 'auto')
  assert.equal(callOf(analysis, 'drain').targets.length, 2)
  assert.deepEqual(callOf(analysis, 'z').targets, [])
})
