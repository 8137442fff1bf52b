import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { packNpm } from '../../src/pack/npm.ts'
import { readmeOf } from '../../src/pack/readme.ts'
import { planFromDisk, planned, Tree } from '../plan-kit.ts'

test('the readme of a package packed by this process is known; later it is read from the archive', async () => {
  using tree = new Tree()
  using out = new Tree()
  tree.writeJson('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
  for (const name of ['shown', 'bare']) {
    tree.writeJson(`packages/${name}/package.json`, { name, version: '1.0.0' })
    tree.write(`packages/${name}/docs/README.md`, '# not this one')
  }
  tree.write('packages/shown/Readme.md', `# ${'long '.repeat(20_000)}`)
  const plan = planFromDisk(tree, {})
  for (const name of ['shown', 'bare']) {
    const packed = await packNpm(planned(plan, name), plan, { folder: out.path })
    const resumed = { ...packed }
    const fromArchive = await readmeOf(resumed)
    rmSync(packed.artifacts[0]!.file)
    assert.deepEqual(await readmeOf(packed), fromArchive)
    assert.deepEqual(
      [fromArchive?.name, fromArchive?.text.length],
      name === 'shown' ? ['Readme.md', 64 * 1024] : [undefined, undefined],
    )
    assert.equal(await readmeOf(resumed), undefined)
  }
})
