import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyze } from '../../src/index.ts'
import type { Finding } from '../../src/index.ts'

const log = (name: string): string => `
export class ${name} {
  position = 0
  async append(line) {
    await write(line, this.position)
    this.position += line.length
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

test('the source is reported rather than what is built of it', async () => {
  const findings = await findIn({ 'dist/log.js': log('Log'), 'src/log.ts': log('Log') })
  assert.deepEqual(levelsOf(findings), ['dist/log.js note', 'src/log.ts warning'])
})

test('two functions with the same defect are both reported', async () => {
  const findings = await findIn({ 'a.js': log('Log'), 'b.js': log('Journal') })
  assert.deepEqual(levelsOf(findings), ['a.js warning', 'b.js warning'])
})
