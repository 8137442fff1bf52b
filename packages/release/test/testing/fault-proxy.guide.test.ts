/** The example of the guide, as it is printed there. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

const root = path.resolve(import.meta.dirname, '../../../..')
const guide = path.join(root, 'docs/guide/test-releases.md')

test('the first example of the guide works as described', async () => {
  const example = /```ts\n([\s\S]*?)```/.exec(await readFile(guide, 'utf8'))![1]!
  // Below the checkout, where packages can be imported by name; not below packages/, which others copy.
  const folder = await mkdtemp(path.join(root, '.doctest-guide-'))
  try {
    const write = (name: string, content: object): Promise<void> =>
      writeFile(path.join(folder, name), JSON.stringify(content))
    await mkdir(path.join(folder, 'packages/b'), { recursive: true })
    await write('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
    await write('packages/b/package.json', { name: 'b', version: '1.0.0' })
    const file = path.join(folder, 'example.ts')
    // Its paths are those of the folder in which it is started.
    const placed = example
      .replace("'.'", JSON.stringify(folder))
      .replace("'archives'", JSON.stringify(path.join(folder, 'archives')))
    const asked = placed.replace('await publishOnce', 'export const result = await publishOnce')
    const counted = asked.replace("proxy.uploads.get('b@1.0.0')", 'export const count = $&')
    await writeFile(file, counted)
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
