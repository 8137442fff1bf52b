/** The packages of this repository, built and released to a real registry, as their users get them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, mkdir, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { startVerdaccio } from '../../src/testing/verdaccio.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'

const repository = path.resolve(import.meta.dirname, '../../../..')
const run = promisify(execFile)

/** Where this machine gets its packages: ours depend on some of other people. */
const { stdout } = await run('npm', ['config', 'get', 'registry'], { cwd: os.tmpdir() })
const upstream = stdout.trim()
const isReachable = await fetch(upstream, { signal: AbortSignal.timeout(10_000) }).then(
  () => true,
  () => false,
)

/** A copy without build output: the release must not depend on files that happen to be here. */
async function copyWorkspace(to: string): Promise<void> {
  const left = new Set(['node_modules', 'dist', '.git'])
  for (const part of ['packages', 'package.json', 'tsconfig.base.json']) {
    await cp(path.join(repository, part), path.join(to, part), {
      recursive: true,
      filter: (file) => !left.has(path.basename(file)),
    })
  }
  await linkModules(to)
}

/** What is installed here, but with the copies in place of our own packages. */
async function linkModules(to: string): Promise<void> {
  const installed = path.join(repository, 'node_modules')
  const modules = path.join(to, 'node_modules')
  await mkdir(path.join(modules, '@heddle'), { recursive: true })
  for (const name of await readdir(installed)) {
    if (name === '@heddle' || name === 'heddle') continue
    await symlink(path.join(installed, name), path.join(modules, name))
  }
  for (const name of await readdir(path.join(to, 'packages'))) {
    // Versions that npm could not share with other packages.
    const own = path.join(repository, 'packages', name, 'node_modules')
    if (existsSync(own)) await symlink(own, path.join(to, 'packages', name, 'node_modules'))
    if (name === 'cli') continue
    await symlink(path.join(to, 'packages', name), path.join(modules, '@heddle', name))
  }
}

test(
  'our own workspace is published, read back and installed in an empty project',
  {
    // A build of everything, a release and an installation: as long as a whole file may take.
    timeout: 240_000,
    skip: isReachable ? false : `${upstream}, which has what our packages need, cannot be reached`,
  },
  async () => {
    const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'heddle-own-')))
    try {
      const root = path.join(folder, 'workspace')
      await mkdir(root)
      await copyWorkspace(root)
      const tsc = path.join(repository, 'node_modules/typescript/bin/tsc')
      const folders = (await readdir(path.join(root, 'packages'))).map((name) => `packages/${name}`)
      // create-heddle is plain JavaScript.
      const built = folders.filter((each) => existsSync(path.join(root, each, 'tsconfig.json')))
      // `npm run check` looks at the types.
      await run(process.execPath, [tsc, '-b', '--noCheck', ...built], { cwd: root })

      await using registry = await startVerdaccio({ upstream })
      await using registries = await openRegistries({ folder: root, npm: registry.url, env: {} })
      const plan = await planFromManifests(await readWorkspace(root))
      // The project below is the smoke test, once for all of them.
      const report = await publishRelease(plan, { registryOf: registries.registryOf, smoke: false })
      // The dashboard is private: the server brings its built files.
      assert.equal(report.packages.length, folders.length - 1)
      for (const { name, outcome, problems } of report.packages) {
        assert.deepEqual([name, outcome, problems], [name, 'published', []])
      }

      const project = path.join(folder, 'project')
      // A user's environment does not ask for the source of packages.
      const { NODE_OPTIONS: _, ...env } = process.env
      const inProject = { cwd: project, env }
      await mkdir(project)
      await writeFile(path.join(project, 'package.json'), '{ "private": true, "type": "module" }')
      const quiet = ['--no-audit', '--no-fund', '--registry', registry.url]
      await run('npm', ['install', ...quiet, 'heddle'], inProject)
      const bin = path.join(project, 'node_modules/.bin/heddle')
      const { stdout: version } = await run(bin, ['--version'], inProject)
      const planned = plan.packages.get('heddle')!.version
      assert.equal(version.trim(), planned)
      await writeFile(
        path.join(project, 'graph.js'),
        `import { Graph, job } from '@heddle/core'
         const graph = new Graph()
         graph.add('hello', job({ name: 'hello' }, () => 'world'))
         export default graph`,
      )
      const { stdout: events } = await run(
        bin,
        ['run', 'graph.js', '--journal', 'memory', '--json'],
        inProject,
      )
      const result = JSON.parse(events.trimEnd().split('\n').at(-1)!) as { ok: boolean }
      assert.equal(result.ok, true)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
)
