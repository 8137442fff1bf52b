import assert from 'node:assert/strict'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { analyze } from '../../src/analyze.ts'
import type { Analysis } from '../../src/analysis.ts'
import { tempFolder } from '../support/temp-folder.ts'

/** A race that only this package has. */
const race = (name: string): string => `
  let ${name}
  export async function get() {
    if (${name} === undefined) ${name} = await fetch('http://${name}')
    return ${name}
  }`

const packages = ['a', 'b', 'c', 'd', 'e']

/** Packages, and who imports whom. */
function program(t: TestContext, imports: readonly (readonly [string, string])[]): string {
  const files = packages.flatMap((name) => [
    [`${name}/package.json`, JSON.stringify({ name, main: 'index.js' })],
    [
      `${name}/index.js`,
      [
        ...imports.filter(([from]) => from === name).map(([, to]) => `import '${to}'`),
        race(name),
      ].join('\n'),
    ],
  ])
  return tempFolder(t, Object.fromEntries(files) as Record<string, string>)
}

async function foundIn(root: string, wanted?: readonly string[]): Promise<Analysis> {
  const fileOf = (name: string): string => path.join(root, name, 'index.js')
  return analyze({
    root,
    files: packages.map(fileOf),
    types: 'none',
    ...(wanted !== undefined && { wanted: wanted.map(fileOf) }),
  })
}

test('unrelated files are not read', async (t) => {
  const root = program(t, [
    ['a', 'b'],
    ['c', 'd'],
  ])
  const { files, findings } = await foundIn(root, ['b'])
  assert.deepEqual(
    files.map((file) => file.path),
    ['a/index.js', 'b/index.js'],
  )
  assert.ok(findings.length > 0)
})

test('property: findings in wanted files are the same as with all files', async (t) => {
  const name = fc.constantFrom(...packages)
  const property = fc.asyncProperty(
    fc.array(fc.tuple(name, name), { maxLength: 6 }),
    fc.uniqueArray(name, { minLength: 1, maxLength: 2 }),
    async (imports, wanted) => {
      const root = program(t, imports)
      const isWanted = ({ file }: { readonly file: string }): boolean =>
        wanted.includes(path.dirname(file))
      const all = await foundIn(root)
      const some = await foundIn(root, wanted)
      assert.deepEqual(some.findings.filter(isWanted), all.findings.filter(isWanted))
    },
  )
  await fc.assert(property, { numRuns: 30 })
})
