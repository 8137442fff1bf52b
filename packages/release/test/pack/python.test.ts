import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { packPython, type PackPythonOptions } from '../../src/pack/python.ts'
import { parseMetadata } from '../../src/pack/python/metadata.ts'
import { readFromZip } from '../../src/pack/python/read-zip.ts'
import { planFromDisk, planned, Tree } from '../plan-kit.ts'
import { commitAll, entriesOf, git } from './support.ts'

const app = `[project]
name = "Genkit.App"
version = "0.4.0"
description = "An app\\nin two lines"
readme = "README.md"
requires-python = ">=3.9"
license = "MIT"
keywords = ["a", "b"]
authors = [{ name = "Ada", email = "ada@example.com" }, { name = "Bob" }]
classifiers = ["Topic :: Software Development"]
dependencies = ["genkit[x]>=0.3; python_version >= '3'", "httpx>=0.27"]
[project.optional-dependencies]
extra_one = ["genkit", "requests>=2; os_name == 'nt'"]
[project.urls]
Home = "https://example.com"
[project.scripts]
app = "genkit_app:main"
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
`
const lib = `[project]
name = "genkit"
version = "0.4.0"
[project.optional-dependencies]
x = []
`

function workspace(): Tree {
  const tree = new Tree()
  tree.write('packages/app/pyproject.toml', app)
  tree.write('packages/app/README.md', '# App\n')
  tree.write('packages/app/LICENSE', 'MIT\n')
  tree.write('packages/app/src/genkit_app/__init__.py', 'def main():\n    print("app runs")\n')
  tree.write('packages/app/src/genkit_app/py.typed', '')
  tree.write('packages/app/src/genkit_app/__pycache__/x.cpython-311.pyc', 'old')
  tree.write('packages/app/tests/test_app.py', '')
  tree.write('packages/app/.heddle/releases.db', 'journal')
  tree.write('packages/lib/pyproject.toml', lib)
  tree.write('packages/lib/genkit/__init__.py', 'value = 1\n')
  return tree
}

/** One file of a wheel. */
async function textIn(wheel: string, wanted: RegExp): Promise<string | undefined> {
  const { texts } = await readFromZip(wheel, wanted)
  return [...texts.values()][0]
}

const becomes = { 'Genkit.App': '0.5.0', genkit: '1.0.0-rc.1' }

function pack(tree: Tree, out: string, options: Partial<PackPythonOptions> = {}) {
  const plan = planFromDisk(tree, becomes)
  return packPython(planned(plan, 'Genkit.App'), plan, { folder: out, builder: 'own', ...options })
}

test('Y1, Y2: wheel and sdist have the planned version and pinned dependencies', async () => {
  using tree = workspace()
  using out = new Tree()
  const packed = await pack(tree, out.path)
  assert.equal(packed.version, '0.5.0')
  assert.equal(packed.ecosystem, 'python')
  const [wheel, sdist] = packed.artifacts
  assert.equal(path.basename(wheel!.file), 'genkit_app-0.5.0-py3-none-any.whl')
  assert.equal(path.basename(sdist!.file), 'genkit_app-0.5.0.tar.gz')
  const bytes = fs.readFileSync(wheel!.file)
  assert.equal(wheel!.sha256, createHash('sha256').update(bytes).digest('hex'))
  const text = await textIn(wheel!.file, /METADATA$/)
  assert.equal(
    text,
    `Metadata-Version: 2.4
Name: Genkit.App
Version: 0.5.0
Summary: An app in two lines
Keywords: a,b
Author: Bob
Author-Email: Ada <ada@example.com>
License-Expression: MIT
License-File: LICENSE
Classifier: Topic :: Software Development
Project-URL: Home, https://example.com
Requires-Python: >=3.9
Requires-Dist: genkit[x]==1.0.0rc1; python_version >= '3'
Requires-Dist: httpx>=0.27
Provides-Extra: extra-one
Requires-Dist: genkit==1.0.0rc1; extra == "extra-one"
Requires-Dist: requests>=2; (os_name == 'nt') and extra == "extra-one"
Description-Content-Type: text/markdown

# App
`,
  )
  const entries = await entriesOf(sdist!.file)
  assert.deepEqual(
    entries.map((entry) => entry.path),
    [
      'genkit_app-0.5.0/LICENSE',
      'genkit_app-0.5.0/PKG-INFO',
      'genkit_app-0.5.0/README.md',
      'genkit_app-0.5.0/pyproject.toml',
      'genkit_app-0.5.0/src/genkit_app/__init__.py',
      'genkit_app-0.5.0/src/genkit_app/py.typed',
    ],
  )
  assert.deepEqual(
    (packed.manifest['dependencies'] as string[])[0],
    "genkit[x]==1.0.0rc1; python_version >= '3'",
  )
})

const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0

test('Python installs and runs our wheels', { skip: !hasPip && 'no pip here' }, async () => {
  using tree = workspace()
  using out = new Tree()
  const { artifacts } = await pack(tree, out.path)
  const target = out.at('installed')
  const env = {
    ...process.env,
    PYTHONPATH: target,
    PIP_NO_INDEX: '1',
    PIP_CONFIG_FILE: '/dev/null',
  }
  const pip = ['-m', 'pip', 'install', '-q', '--no-deps', '--target', target, artifacts[0]!.file]
  execFileSync('python3', pip, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const program = `
import importlib.metadata as m, genkit_app
genkit_app.main()
d = m.distribution("genkit-app")
print(d.version, d.requires[0], tuple(d.entry_points)[0].value, sorted(f.name for f in d.files if f.hash))
`
  const said = execFileSync('python3', ['-c', program], { env, encoding: 'utf8' })
  assert.match(
    said,
    /^app runs\n0\.5\.0 genkit\[x\]==1\.0\.0rc1; python_version >= '3' genkit_app:main \[/,
  )
  assert.match(said, /'METADATA'.*'WHEEL'.*'__init__\.py'/)
})

test('K1: two packs are equal byte by byte; Y3: the tree is untouched', async () => {
  using tree = workspace()
  using out = new Tree()
  await commitAll(tree)
  const first = await pack(tree, out.at('first'))
  fs.utimesSync(tree.at('packages/app/README.md'), 1, 1)
  const second = await pack(tree, out.at('second'))
  const hashes = (packed: typeof first): string[] => packed.artifacts.map(({ sha256 }) => sha256)
  assert.deepEqual(hashes(first), hashes(second))
  assert.equal(await git(tree.path, 'status', '--porcelain', '--ignored'), '')
})

test('flat layouts and single modules are packed too', async () => {
  using tree = workspace()
  using out = new Tree()
  const plan = planFromDisk(tree, becomes)
  const flat = await packPython(planned(plan, 'genkit'), plan, { folder: out.path, builder: 'own' })
  assert.equal(await textIn(flat.artifacts[0]!.file, /^genkit\/__init__\.py$/), 'value = 1\n')
  fs.rmSync(tree.at('packages/lib/genkit'), { recursive: true })
  tree.write('packages/lib/genkit.py', 'value = 2\n')
  const single = await packPython(planned(plan, 'genkit'), plan, {
    folder: out.path,
    builder: 'own',
  })
  assert.equal(await textIn(single.artifacts[0]!.file, /^genkit\.py$/), 'value = 2\n')
})

test('a package that needs its backend is refused, with the reason, and no file is left', async () => {
  const cases: [change: (tree: Tree) => void, problem: RegExp][] = [
    [(t) => edit(t, 'version = "0.4.0"', 'dynamic = ["version"]'), /version is dynamic/],
    [(t) => edit(t, 'hatchling.build', 'maturin'), /its backend is "maturin"/],
    [
      (t) => edit(t, '[build-system]', '[tool.hatch.build]\nx = 1\n[build-system]'),
      /tool\.hatch\.build/,
    ],
    [(t) => void t.write('packages/app/setup.py', ''), /setup\.py decides/],
    [(t) => void t.write('packages/app/src/genkit_app/data.json', '{}'), /data\.json is data/],
    [
      (t) => fs.rmSync(t.at('packages/app/src'), { recursive: true }),
      /no package or module genkit_app/,
    ],
    [(t) => void t.write('packages/app/genkit_app.py', ''), /has genkit_app twice/],
  ]
  for (const [change, problem] of cases) {
    using tree = workspace()
    using out = new Tree()
    const plan = planFromDisk(tree, becomes)
    change(tree)
    const packing = packPython(planned(plan, 'Genkit.App'), plan, {
      folder: out.path,
      builder: 'own',
    })
    await assert.rejects(packing, (error: Error & { code?: string }) => {
      assert.equal(error.code, 'HDL_PACK_FAILED')
      assert.match(error.message, problem)
      assert.match(error.message, /needs its build backend: install uv/)
      return true
    })
    assert.deepEqual(out.names(), [])
  }
})

function edit(tree: Tree, from: string, to: string): void {
  const file = tree.at('packages/app/pyproject.toml')
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(from, to))
}

const onWindows = process.platform === 'win32' && 'the stand-in for uv is a shell script'

/** An environment in which uv is our stand-in. */
function withUv(tools: Tree, how = ''): Record<string, string | undefined> {
  const program = path.join(import.meta.dirname, 'fixtures/uv.ts')
  const flags = '--conditions=heddle-source'
  tools.write('uv', `#!/bin/sh\nexec "${process.execPath}" ${flags} "${program}" "$@"\n`, 0o755)
  return { ...process.env, PATH: `${tools.path}:${process.env['PATH']}`, FAKE_UV: how }
}

test('Y2, Y3: uv builds a copy that has the pinned manifest', { skip: onWindows }, async () => {
  using tree = workspace()
  using out = new Tree()
  using tools = new Tree()
  await commitAll(tree)
  const plan = planFromDisk(tree, becomes)
  const packed = await packPython(planned(plan, 'Genkit.App'), plan, {
    folder: out.path,
    env: withUv(tools),
  })
  const wheel = packed.artifacts.find(({ file }) => file.endsWith('.whl'))
  const text = (await textIn(wheel!.file, /METADATA$/))!
  assert.deepEqual(parseMetadata(text).requires[0], "genkit[x]==1.0.0rc1; python_version >= '3'")
  assert.equal(packed.artifacts.length, 2)
  assert.equal(await git(tree.path, 'status', '--porcelain', '--ignored'), '')
})

test(
  'Y1, Y2, Y4: a build that fails, or gives something else, is an error',
  { skip: onWindows },
  async () => {
    using tree = workspace()
    using out = new Tree()
    using tools = new Tree()
    const cases: [how: string, code: string, message: RegExp][] = [
      ['broken', 'HDL_COMMAND_FAILED', /exit code 1: backend exploded/],
      ['no wheel', 'HDL_PACK_FAILED', /uv made no \.whl/],
      ['other version', 'HDL_PACK_FAILED', /says that it is Genkit\.App 9\.9\.9, not 0\.5\.0/],
      ['unpinned', 'HDL_LOCAL_RANGE', /"genkit" in Requires-Dist is .*>=1\.0\.0rc1/],
    ]
    for (const [how, code, message] of cases) {
      await assert.rejects(
        pack(tree, out.path, { builder: 'uv', env: withUv(tools, how) }),
        { code, message },
        how,
      )
      assert.deepEqual(out.names(), [], how)
    }
  },
)

test('a local requirement is an error before anything is built', async () => {
  using tree = workspace()
  using out = new Tree()
  edit(tree, 'httpx>=0.27', 'httpx @ file:///src/httpx')
  await assert.rejects(pack(tree, out.at('new')), {
    code: 'HDL_LOCAL_RANGE',
    message: /^Genkit\.App: "httpx" in project\.dependencies is "@ file:/,
  })
  assert.deepEqual(out.names(), [])
})

test('Y4: a cancelled pack leaves nothing', async () => {
  using tree = workspace()
  using out = new Tree()
  await assert.rejects(pack(tree, out.path, { signal: AbortSignal.abort() }), {
    code: 'HDL_CANCELLED',
  })
  assert.deepEqual(out.names(), [])
})
