/** No word decides: code whose names say nothing gets the same findings at the same places. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { replaceNames } from '../../eval/noise.ts'
import { analyze } from '../../src/index.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const wanted = 200

/** Our own code, from the largest packages on. */
function cleanFiles(): string[] {
  const files = ['core', 'server', 'worker'].flatMap((name) =>
    globSync(`${name}/src/**/*.ts`, { cwd: root })
      .map((file) => path.join(root, file))
      .sort(),
  )
  return files.slice(0, wanted)
}

async function findingsOf(texts: ReadonlyMap<string, string>): Promise<string[]> {
  const { findings } = await analyze({
    root,
    files: [...texts.keys()],
    types: 'none',
    overlays: texts,
  })
  return findings.map(
    ({ rule, level, file, check, act }) => `${rule} ${level} ${file}:${check}-${act}`,
  )
}

test('200 clean files have the same findings, notes included, when every name is replaced', async () => {
  const texts = new Map(cleanFiles().map((file) => [file, readFileSync(file, 'utf8')]))
  assert.equal(texts.size, wanted)
  const before = await findingsOf(texts)
  assert.ok(before.length > 5, 'there is something to lose')
  assert.deepEqual(await findingsOf(replaceNames(texts).texts), before)
})
