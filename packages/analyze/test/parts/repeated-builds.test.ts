import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { analyze } from '../../src/index.ts'
import type { Finding } from '../../src/index.ts'
import { tempFolder } from '../support/temp-folder.ts'

const log = (name: string): string => `
export class ${name} {
  #lines = 0
  async append(line) {
    const lines = this.#lines
    await write(line)
    this.#lines = lines + 1
  }
}
`

async function findIn(files: Readonly<Record<string, string>>): Promise<readonly Finding[]> {
  const overlays = new Map(
    Object.entries(files).map(([name, text]) => [`/program/${name}`, text] as const),
  )
  const { findings } = await analyze({
    root: '/program',
    files: [...overlays.keys()],
    types: 'none',
    overlays,
  })
  return findings
}

const levelsOf = (findings: readonly Finding[]): string[] =>
  findings.map(({ file, level }) => `${file} ${level}`)

test('one defect in two builds of a source is reported once', async () => {
  const findings = await findIn({ 'dist/cjs/log.js': log('Log'), 'dist/esm/log.js': log('Log') })
  assert.deepEqual(levelsOf(findings), ['dist/cjs/log.js warning', 'dist/esm/log.js note'])
  assert.equal(findings[1]!.builtFrom?.file, 'dist/cjs/log.js')
  assert.match(findings[1]!.evidence.at(-1)!, /reported at dist\/cjs\/log\.js:\d+/)
})

test('the source is reported, not its build output', async () => {
  const findings = await findIn({ 'dist/log.js': log('Log'), 'src/log.ts': log('Log') })
  assert.deepEqual(levelsOf(findings), ['dist/log.js note', 'src/log.ts warning'])
})

test('two functions with the same defect are both reported', async () => {
  const findings = await findIn({ 'a.js': log('Log'), 'b.js': log('Journal') })
  assert.deepEqual(levelsOf(findings), ['a.js warning', 'b.js warning'])
})

test('equal findings in two packages are both reported', async (t) => {
  const root = tempFolder(t, {
    'a/package.json': '{ "name": "a" }',
    'a/src/log.js': log('Log'),
    'b/package.json': '{ "name": "b" }',
    'b/src/log.js': log('Log'),
  })
  const { findings } = await analyze({
    root,
    files: ['a', 'b'].map((name) => path.join(root, name, 'src/log.js')),
    types: 'none',
  })
  assert.deepEqual(levelsOf(findings), ['a/src/log.js warning', 'b/src/log.js warning'])
})

test('equal findings in two folders that are not builds are both reported', async () => {
  const findings = await findIn({ 'src/disk/log.js': log('Log'), 'src/net/log.js': log('Log') })
  assert.deepEqual(levelsOf(findings), ['src/disk/log.js warning', 'src/net/log.js warning'])
})

test('a function with different text in the second build is reported', async () => {
  const other = log('Log').replace('    await write', '    trace(line)\n    await write')
  const findings = await findIn({ 'dist/cjs/log.js': log('Log'), 'dist/esm/log.js': other })
  assert.deepEqual(levelsOf(findings), ['dist/cjs/log.js warning', 'dist/esm/log.js warning'])
})

test('imports and types are written in different ways in builds of one source', async () => {
  const typed = log('Log').replace('append(line)', 'append(line: Buffer): Promise<void>')
  const common = log('Log').replace('write(', '(0, disk_1.write)(')
  const findings = await findIn({ 'lib/log.js': common, 'src/log.ts': typed })
  assert.deepEqual(levelsOf(findings), ['lib/log.js note', 'src/log.ts warning'])
})
