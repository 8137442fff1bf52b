import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { isError } from '@heddle/core'
import { branchTag } from '../../src/config/branch-tag.ts'
import { readReleaseConfig } from '../../src/config/release-config.ts'
import { Repository } from '../../src/git/repository.ts'
import { Monorepo } from '../support/monorepo.ts'

test('a config in JSON and one in TypeScript have the same effect', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  assert.deepEqual(await readReleaseConfig(repo.root), {})
  const config = { branches: ['main'], groups: [['a*']], registries: { '@x': 'http://x/' } }
  repo.write('heddle.release.json', config)
  assert.deepEqual(await readReleaseConfig(repo.root), config)
  rmSync(path.join(repo.root, 'heddle.release.json'))
  const text = `const config: object = ${JSON.stringify(config)}\nexport default config\n`
  repo.write('heddle.release.ts', text)
  assert.deepEqual(await readReleaseConfig(repo.root), config)
})

for (const type of [undefined, 'commonjs', 'module']) {
  test(`a config in TypeScript is a module without a warning, in a root of type ${type ?? 'none'}`, async () => {
    using repo = new Monorepo({ packages: { a: [] } })
    repo.write('package.json', { name: 'root', private: true, workspaces: ['packages/*'], type })
    repo.write('heddle.release.ts', "export default { branches: ['main'] as string[] }\n")
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    process.on('warning', onWarning)
    try {
      assert.deepEqual(await readReleaseConfig(repo.root), { branches: ['main'] })
      await setImmediate()
    } finally {
      process.off('warning', onWarning)
    }
    assert.deepEqual(warnings, [])
  })
}

test('a tag format that Git refuses is a fault of the config', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  repo.write('heddle.release.json', { tagFormat: 'rel' })
  await assert.rejects(
    readReleaseConfig(repo.root),
    /`tagFormat` is "rel". Write a text with \{version\}/,
  )
})

test('all faults of a config are reported at once', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  repo.write('heddle.release.json', {
    $schema: './schema.json',
    brances: ['main'],
    exclude: 'a',
    smoke: { installonly: [] },
    notes: 'bitbucket',
  })
  await assert.rejects(readReleaseConfig(repo.root), (error) => {
    assert.ok(isError(error, 'HDL_WORKSPACE_INVALID'))
    const problems = error.details.problems.map(({ problem, todo }) => `${problem}. ${todo}`)
    assert.deepEqual(problems, [
      '`exclude` is "a". Write a list of patterns of names.',
      '`notes` is "bitbucket". Write github, gitlab or false.',
      '`smoke` is {"installonly":[]}. Write true, false, or { installOnly: [patterns] }.',
      'there is no setting "brances". Did you mean "branches"?',
    ])
    return true
  })
  repo.write('heddle.release.ts', 'export default 1\n')
  await assert.rejects(readReleaseConfig(repo.root), /there is also heddle\.release\.json/)
  rmSync(path.join(repo.root, 'heddle.release.json'))
  await assert.rejects(readReleaseConfig(repo.root), /its default export is not an object/)
  repo.write('heddle.release.ts', 'export default {\n')
  rmSync(path.join(repo.root, 'heddle.release.ts'))
  repo.write('heddle.release.json', '{')
  await assert.rejects(readReleaseConfig(repo.root), /it cannot be read/)
})

test('names of the prototype are settings like any other unknown one', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  repo.write('heddle.release.json', '{ "__proto__": { "x": 1 }, "toString": true }')
  await assert.rejects(readReleaseConfig(repo.root), (error) => {
    assert.ok(isError(error, 'HDL_WORKSPACE_INVALID'))
    assert.equal(error.details.problems.length, 2)
    return true
  })
})

test('the dist-tag of a branch', async () => {
  using repo = new Monorepo({ packages: { a: [] } })
  const distTags = { main: 'latest', '*.x': 'older' }
  const tagHere = async (env = {}): Promise<string | undefined> =>
    branchTag({ distTags }, await Repository.open(repo.root), env)
  assert.equal(await tagHere(), 'latest')
  repo.git('switch', '--quiet', '--create', '1.x')
  assert.equal(await tagHere(), 'older')
  repo.git('switch', '--quiet', '--detach')
  assert.equal(await tagHere(), undefined)
  assert.equal(await tagHere({ GITHUB_REF_NAME: 'main' }), 'latest')
})
