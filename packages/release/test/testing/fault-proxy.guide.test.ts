/** The example of the guide, as it is printed there. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { packNpm } from '../support/packed.ts'

const root = path.resolve(import.meta.dirname, '../../../..')
const guide = path.join(root, 'docs/guide/test-releases.md')

test('the first example of the guide does what it says', async () => {
  const example = /```ts\n([\s\S]*?)```/.exec(await readFile(guide, 'utf8'))![1]!
  // Below the checkout, where packages can be imported by name; not below packages/, which others copy.
  const folder = await mkdtemp(path.join(root, '.doctest-guide-'))
  try {
    const packed = await packNpm(folder, 'b', '1.0.0')
    await writeFile(path.join(folder, 'packed.json'), JSON.stringify(packed))
    const file = path.join(folder, 'example.ts')
    const asked = example.replace('await publishOnce', 'export const result = await publishOnce')
    const counted = asked.replace("proxy.uploads.get('b@1.0.0')", 'export const count = $&')
    const start = "import packed from './packed.json' with { type: 'json' }\n"
    await writeFile(file, start + counted)
    const { result, count } = (await import(pathToFileURL(file).href)) as {
      result: { outcome: string; uploads: number }
      count: object
    }
    assert.equal(result.outcome, 'published')
    assert.equal(result.uploads, 1)
    assert.deepEqual(count, { sent: 1, accepted: 1 })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
