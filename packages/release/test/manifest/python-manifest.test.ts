import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'smol-toml'
import { pythonChanges } from '../../src/manifest/python-manifest.ts'
import { planOf, planned } from '../plan-kit.ts'

function changes(text: string): [path: string, value: string][] {
  const document = parse(text) as Record<string, unknown>
  const python = { manifestName: 'pyproject.toml' } as const
  const plan = planOf('/repository', [
    {
      manifest: { project: { name: 'genkit-app', version: '0.4.0' } },
      ...python,
      becomes: '0.5.0',
    },
    {
      manifest: { project: { name: 'genkit', version: '0.4.0' } },
      ...python,
      becomes: '1.0.0-rc.1',
    },
    { manifest: { name: 'npm-only', version: '1.0.0' } },
    { manifest: { project: { name: 'hidden', version: '1' }, private: true }, ...python },
  ])
  return pythonChanges(planned(plan, 'genkit-app'), plan, document).map(({ path, value }) => [
    path.join('.'),
    value,
  ])
}

test('S61 version, dependencies and extras are pinned; groups that are never installed are not', () => {
  const found = changes(`
[project]
name = "genkit-app"
version = "0.4.0"
dependencies = ["Genkit[a]>=0.4; os_name == 'nt'", "httpx>=0.27", "npm-only"]
[project.optional-dependencies]
one = ["genkit"]
all = ["genkit-app[one]", "requests"]
[dependency-groups]
dev = ["genkit>=0.4"]
[build-system]
requires = ["genkit>=0.4"]
`)
  assert.deepEqual(found, [
    ['project.version', '0.5.0'],
    ['project.dependencies.0', "Genkit[a]==1.0.0rc1; os_name == 'nt'"],
    ['project.optional-dependencies.one.0', 'genkit==1.0.0rc1'],
  ])
})

test('dependencies that are pinned or dynamic stay unchanged', () => {
  const text =
    '[project]\nname = "genkit-app"\ndynamic = ["version"]\ndependencies = ["genkit==1.0.0rc1"]\n'
  assert.deepEqual(changes(text), [])
})

test('requirements that cannot be installed elsewhere are errors', () => {
  for (const requirement of ['x @ file:///src/x', 'x @ ../x', 'hidden>=1']) {
    const text = `[project]\nname = "genkit-app"\nversion = "0.4.0"\ndependencies = ["${requirement}"]\n`
    assert.throws(() => changes(text), {
      code: 'HDL_LOCAL_RANGE',
      message: /in project\.dependencies/,
    })
  }
})
