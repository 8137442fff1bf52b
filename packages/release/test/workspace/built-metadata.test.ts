import assert from 'node:assert/strict'
import { chmod } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { isError } from '@heddle/core'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { Repository } from '../plan/repository.ts'
import { addFiles, makeTree } from './tree.ts'

/** Makes a wheel whose version is the last tag, as hatch-vcs does: it must be run in a repository. */
const fakeUv = `
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
const { zip } = await import(process.env.ZIP_MODULE)
const args = process.argv.slice(2)
if (args[0] === '--version') process.exit(0)
const version = execFileSync('git', ['describe', '--tags'], { encoding: 'utf8' }).trim().slice(1)
const name = path.basename(args.at(-1))
writeFileSync('built.txt', 'left by the build')
const requires = (process.env.REQUIRES ?? '').split('|').map((each) => each.replace('VERSION', version))
const lines = requires.filter((each) => each !== '' && !each.startsWith(name)).map((each) => \`Requires-Dist: \${each}\\n\`)
const metadata = \`Metadata-Version: 2.4\\nName: \${name}\\nVersion: \${version}\\n\${lines.join('')}\`
const file = path.join(args[args.indexOf('-o') + 1], \`\${name}-\${version}-py3-none-any.whl\`)
writeFileSync(file, zip({ [\`\${name}-\${version}.dist-info/METADATA\`]: metadata }))
`

async function repositoryOf(t: TestContext): Promise<Repository> {
  const repository = await Repository.create(t, {
    'pyproject.toml': '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
    'packages/one/pyproject.toml':
      '[project]\nname = "one"\ndynamic = ["version"]\n[build-system]\nrequires = ["hatch-vcs"]\nbuild-backend = "hatchling.build"\n',
    'packages/two/pyproject.toml':
      '[project]\nname = "two"\nversion = "1.0.0"\ndependencies = ["one"]\n',
  })
  await repository.tag('v1.4.0')
  return repository
}

/** Finds our stand-in for uv first. */
async function envWithUv(t: TestContext): Promise<Record<string, string | undefined>> {
  const tools = await makeTree(t, { 'uv.mjs': fakeUv })
  const run = `#!/bin/sh\nexec "${process.execPath}" "${path.join(tools, 'uv.mjs')}" "$@"\n`
  await addFiles(tools, { uv: run })
  await chmod(path.join(tools, 'uv'), 0o755)
  const module = new URL('../support/packed.ts', import.meta.url).href
  return { ...process.env, PATH: `${tools}:${process.env['PATH']}`, ZIP_MODULE: module }
}

test('a version that the build computes is read from its output; the tree is untouched', async (t) => {
  const repository = await repositoryOf(t)
  const env = await envWithUv(t)
  const { packages } = await readWorkspace(repository.folder, { env })
  assert.equal(packages.get('one')!.version, '1.4.0')
  assert.equal(packages.get('two')!.version, '1.0.0')
  assert.equal(await repository.git('status', '--porcelain'), '')
})

test('without uv and build, the missing tool is named', async (t) => {
  const repository = await repositoryOf(t)
  const built =
    '[project]\nname = "NAME"\ndynamic = ["version"]\n[build-system]\nbuild-backend = "hatchling.build"\n'
  await repository.commit('more', {
    'packages/three/pyproject.toml': built.replace('NAME', 'three'),
    'packages/read/pyproject.toml': `${built.replace('NAME', 'read')}[tool.hatch.version]\npath = "v.py"\n`,
    'packages/read/v.py': "VERSION = 'v2.1'\n",
  })
  const tools = await makeTree(t, {})
  await assert.rejects(readWorkspace(repository.folder, { env: { PATH: tools } }), (error) => {
    assert.ok(isError(error, 'HDL_WORKSPACE_INVALID'))
    const [found, ...more] = error.details.problems
    assert.match(
      found!.problem,
      /neither `uv` nor `python3 -m build` is installed here, and .* one, three$/,
    )
    assert.deepEqual(more, [], 'one problem for all packages')
    assert.match(found!.todo, /Install uv/)
    return true
  })
})

test('dependencies that the build computes decide the order, those of extras do not close a circle', async (t) => {
  // The shape of pydantic-ai: the root is a package that needs a member, at a version from Git.
  const built = 'requires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
  const repository = await Repository.create(t, {
    'pyproject.toml': `[project]\nname = "whole"\ndynamic = ["version", "dependencies"]\n[build-system]\n${built}[tool.uv.workspace]\nmembers = ["slim", "extra"]\n`,
    'slim/pyproject.toml': `[project]\nname = "slim"\ndynamic = ["version", "optional-dependencies"]\n[build-system]\n${built}`,
    'extra/pyproject.toml':
      '[project]\nname = "extra"\nversion = "1.0.0"\ndependencies = ["slim"]\n',
  })
  await repository.tag('v1.4.0')
  const env = { ...(await envWithUv(t)), REQUIRES: `slim[all]==VERSION|extra>=1; extra == 'all'` }
  const workspace = await readWorkspace(repository.folder, { env })
  const { dependencies, version } = workspace.packages.get('whole')!
  assert.equal(version, '1.4.0')
  assert.deepEqual(dependencies, [
    { name: 'slim', group: 'project.dependencies', range: '[all]==1.4.0' },
    { name: 'extra', group: 'project.optional-dependencies.all', range: ">=1; extra == 'all'" },
  ])
  const { packages } = await planFromManifests(workspace)
  assert.deepEqual(packages.get('whole')!.after.includes('slim'), true)
  assert.deepEqual(packages.get('extra')!.after, ['slim'])
})
