import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseToml } from '../../src/manifest/toml-edit.ts'
import { staticVersion } from '../../src/workspace/static-version.ts'
import { makeTree } from './tree.ts'

const backend = '[build-system]\nbuild-backend = "hatchling.build"\n'
const hatch = '[tool.hatch.version]\npath = "src/one/version.py"\n'

test('a version that hatch reads from a file needs no build', async (t) => {
  const folder = await makeTree(t, {
    'src/one/version.py': '# of the package\n__version__: str = "1.4.0rc2"\n',
  })
  const versionOf = (text: string): Promise<string | undefined> =>
    staticVersion({ folder, manifest: parseToml('pyproject.toml', text) })
  assert.equal(await versionOf(backend + hatch), '1.4.0rc2')
  assert.equal(await versionOf(`${backend + hatch}pattern = "x = (?P<version>.+)"\n`), undefined)
  assert.equal(await versionOf(`${backend}[tool.hatch.version]\nsource = "vcs"\n`), undefined)
  assert.equal(await versionOf(hatch), undefined, 'another backend reads other settings')
  assert.equal(await versionOf(backend + hatch.replace('version.py', 'gone.py')), undefined)
})
